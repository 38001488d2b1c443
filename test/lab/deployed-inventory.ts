/** The inventory operator in the lab, from its own manifest, for as long as a file of tests runs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Cluster } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { parseAllDocuments, stringify } from "yaml";
import { providerImage } from "../../lab/images.ts";
import { kubectl } from "../../lab/kubectl.ts";
import { nodeName } from "../../lab/places.ts";
import { parseBytes, parseCount, parseCpuMilli } from "../../src/market/quantity.ts";
import type { SoldResources } from "../../src/operators/inventory/accounting/resources.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";
import { podStartsWithinMs, read } from "./cluster.ts";

export const namespace = "akash-services";
export const discoveryNamespace = "akash-discovery";
export const discoveryPod = `operator-inventory-hardware-discovery-${nodeName}`;
export const operatorPods = "app.kubernetes.io/instance=inventory-service";

interface Amounts {
  readonly allocatable: string;
  readonly allocated: string;
  readonly capacity: string;
}

/** The checked fields of /v1/inventory. */
export interface InventoryAnswer {
  readonly nodes: readonly NodeAnswer[];
  readonly not_offered: readonly (NodeAnswer & { readonly reasons: readonly string[] })[];
  readonly storage: readonly { readonly class: string; readonly quantity: Amounts }[];
  readonly conditions: readonly { readonly type: string; readonly message: string }[];
}

export interface NodeAnswer {
  readonly name: string;
  readonly resources: {
    readonly cpu: { readonly info: readonly { vendor: string; model: string; vcores: number }[] | null };
    readonly memory: { readonly info: readonly { total_size: string }[] | null };
    readonly ephemeral_storage: Amounts;
  };
  readonly architecture?: string;
  readonly disks?: readonly { name: string; type: string; size: string }[];
  readonly interfaces?: readonly { name: string; up: boolean }[];
  readonly hardware_at?: string;
}

export interface DeployedInventory {
  /** Where its Service listens. */
  readonly restUrl: string;
  readonly grpcUrl: string;
  inventory(): Promise<InventoryAnswer>;
  /** The node of the lab, if it is offered. */
  node(): Promise<NodeAnswer | undefined>;
}

/** Resolves when it is ready. Afterwards everything is removed except its labels on nodes. */
export async function deployInventory(owner: Owner, env: Readonly<Record<string, string>>): Promise<DeployedInventory> {
  const objects = manifest(env);
  owner.after(async () => {
    await kubectl(["delete", "--ignore-not-found", "--filename=-"], objects);
  });
  await kubectl(["apply", "--server-side", "--filename=-"], objects);
  const service = await read<{ spec: { clusterIP: string } }>(
    `/api/v1/namespaces/${namespace}/services/operator-inventory`,
  );
  const restUrl = `http://${service.spec.clusterIP}:8080`;
  await eventually(
    "the operator to be ready",
    async () => (await fetch(`${restUrl}/ready`)).status === 200,
    podStartsWithinMs,
  );
  const inventory = async () => (await (await fetch(`${restUrl}/v1/inventory`)).json()) as InventoryAnswer;
  return {
    restUrl,
    grpcUrl: `http://${service.spec.clusterIP}:8081`,
    inventory,
    node: async () => (await inventory()).nodes.find(({ name }) => name === nodeName),
  };
}

/** As it is deployed, with the lab's image and some variables more. */
function manifest(env: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(import.meta.dirname, "../../deploy/operator-inventory.yaml"), "utf8");
  const items = parseAllDocuments(text).map((document) => document.toJS());
  const deployment = items.find(({ kind }) => kind === "Deployment");
  const [container] = deployment.spec.template.spec.containers;
  container.image = providerImage;
  container.env.push(...Object.entries(env).map(([name, value]) => ({ name, value })));
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** The kubelet looks at a ConfigMap once a minute, or sooner when its pod changes. */
export const swapWithinMs = 120_000;

export async function configure(config: object): Promise<void> {
  const patch = JSON.stringify({ data: { "config.yaml": stringify(config) } });
  await kubectl(["patch", "configmap", "operator-inventory", "-n", namespace, "--type=merge", "-p", patch]);
  const touch = `akash-provider-lab/touched=${performance.now()}`;
  await kubectl(["annotate", "pod", "-n", namespace, "-l", operatorPods, "--overwrite", touch]);
}

/** The allocated resources of the node in a message of the stream. */
export function streamedUse(message: Buffer | undefined): SoldResources {
  const node = Cluster.decode(message ?? Buffer.alloc(0)).nodes.find(({ name }) => name === nodeName);
  const { cpu, memory, ephemeralStorage, gpu } = node?.resources ?? {};
  return {
    cpuMilli: parseCpuMilli(cpu?.quantity?.allocated?.string ?? ""),
    memoryBytes: parseBytes(memory?.quantity?.allocated?.string ?? ""),
    ephemeralBytes: parseBytes(ephemeralStorage?.allocated?.string ?? ""),
    gpus: parseCount(gpu?.quantity?.allocated?.string ?? ""),
  };
}
