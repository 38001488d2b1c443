/**
 * What the tenants of the demo ask for, written as tenants write it. Together they show most of what a provider says yes
 * and no to; prices are per block, and about what the real market pays.
 */
import { addressOf } from "../market/address.ts";
import { readSdl, type Sdl } from "../market/sdl/sdl.ts";
import type { Proof } from "./tenant-desk.ts";

export interface Wish extends Sdl {
  /** What a person calls it. */
  readonly name: string;
  /** What its tenant sends once it has the lease: what it promised, something else, or nothing. */
  readonly sends: "manifest" | "lie" | "nothing";
  /** What its tenant puts into escrow: hours of the lease, or as little as the chain takes, which is spent while it runs. */
  readonly funds: "plenty" | "least";
  /** The same with a newer image, where its tenant updates it. */
  readonly update: Sdl | undefined;
  /** How its tenant proves to the provider who it is. */
  readonly proof: Proof;
  /** Its first image does not exist; its tenant updates it after the error is reported. */
  readonly misspelt: boolean;
}

interface Written {
  readonly name: string;
  readonly cpu: number;
  readonly memory: string;
  readonly count?: number;
  /** The most that one replica may cost, in uact. */
  readonly most: number;
  readonly gpus?: { readonly units: number; readonly model?: string };
  /** Of a persistent volume of the class beta3. */
  readonly volume?: string;
  readonly address?: boolean;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly auditor?: string;
  readonly sends?: Wish["sends"];
  readonly funds?: Wish["funds"];
  readonly updates?: boolean;
  readonly misspelt?: boolean;
  readonly proof?: Proof;
}

/** There is no such tag. */
const misspeltTag = "lastest";

export function isMisspelt(image: string): boolean {
  return image.endsWith(`:${misspeltTag}`);
}

const region = { region: "box" };
/** An auditor without any signed attributes. */
const strangeAuditor = addressOf(new Uint8Array(20).fill(9));

/** GPUs come later: the inventory operator needs a moment to find out their names. */
const written: readonly Written[] = [
  { name: "web", cpu: 0.5, memory: "512Mi", count: 2, most: 12, updates: true },
  { name: "premium", cpu: 2, memory: "4Gi", attributes: { ...region, tier: "premium" }, most: 60 },
  { name: "database", cpu: 4, memory: "16Gi", volume: "100Gi", most: 120, updates: true, proof: "certificate" },
  { name: "bargain", cpu: 16, memory: "32Gi", most: 0.5 },
  // No rival sells volumes, so these are always ours.
  {
    ...{ name: "training", cpu: 112, memory: "896Gi", volume: "1Gi", gpus: { units: 7, model: "h100" } },
    ...{ most: 25_000, funds: "least" },
  },
  { name: "silent", cpu: 1, memory: "1Gi", volume: "1Gi", most: 60, sends: "nothing" },
  { name: "liar", cpu: 1, memory: "1Gi", volume: "1Gi", most: 60, sends: "lie" },
  {
    ...{ name: "typo", cpu: 1, memory: "2Gi", attributes: { ...region, "capabilities/storage/1/class": "beta3" } },
    ...{ most: 60, updates: true, misspelt: true },
  },
  { name: "address", cpu: 1, memory: "1Gi", volume: "1Gi", address: true, most: 60 },
  { name: "h100", cpu: 8, memory: "64Gi", gpus: { units: 1, model: "h100" }, most: 5_000 },
  { name: "a100", cpu: 8, memory: "64Gi", gpus: { units: 1, model: "a100" }, most: 4_000 },
  { name: "audited", cpu: 1, memory: "2Gi", auditor: strangeAuditor, most: 40 },
  { name: "any gpu", cpu: 4, memory: "16Gi", gpus: { units: 1 }, most: 5_000 },
  { name: "workers", cpu: 4, memory: "8Gi", count: 6, most: 60 },
  { name: "two 4090", cpu: 8, memory: "32Gi", gpus: { units: 2, model: "rtx4090" }, most: 3_000 },
  { name: "mainframe", cpu: 256, memory: "512Gi", most: 5_000 },
];

/** Read once: the reader is worth more to a tenant than to a demo that runs all day. */
export function readWishes(): Wish[] {
  return written.map((wish) => {
    const { name, sends = "manifest", funds = "plenty", updates = false, misspelt = false, proof = "token" } = wish;
    const read = (version: number) => readSdl(sdlOf(wish, version), name);
    return { name, sends, funds, misspelt, proof, update: updates ? read(2) : undefined, ...read(1) };
  });
}

/** JSON is YAML too. */
function sdlOf(wish: Written, version: number) {
  const { name, cpu, memory, count = 1, most, gpus, volume, address, attributes = region, auditor } = wish;
  const tag = wish.misspelt && version === 1 ? misspeltTag : version;
  const vendor = { nvidia: gpus?.model === undefined ? [] : [{ model: gpus.model }] };
  const data = { name: "data", size: volume, attributes: { persistent: true, class: "beta3" } };
  const to = [{ global: true, ...(address && { ip: "front" }) }];
  return JSON.stringify({
    version: "2.0",
    ...(address && { endpoints: { front: { kind: "ip" } } }),
    services: {
      main: {
        image: `example/${name.replaceAll(" ", "-")}:${tag}`,
        expose: [{ port: 8080, as: 80, to }],
        ...(volume !== undefined && { params: { storage: { data: { mount: "/data" } } } }),
      },
    },
    profiles: {
      compute: {
        main: {
          resources: {
            cpu: { units: cpu },
            memory: { size: memory },
            storage: [{ size: "1Gi" }, ...(volume === undefined ? [] : [data])],
            ...(gpus && { gpu: { units: gpus.units, attributes: { vendor } } }),
          },
        },
      },
      placement: {
        box: {
          attributes,
          ...(auditor !== undefined && { signedBy: { anyOf: [auditor] } }),
          pricing: { main: { denom: "uact", amount: most } },
        },
      },
    },
    deployment: { main: { box: { profile: "main", count } } },
  });
}
