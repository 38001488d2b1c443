/** An operator's policies: the schema of their file, and what they mean in sentences. */
import { z } from "zod";
import { parseAddress } from "../../market/address.ts";
import { compileGlob } from "../../market/glob.ts";
import { parseBytes, parseCount, parseCpuMilli, showResource } from "../../market/quantity.ts";
import { formatTime, parseTime } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { settingsFileFaults } from "../../runtime/limits.ts";
import { readYamlText } from "../../runtime/yaml-text.ts";

/** Patterns of images and host names: `*` is any text, also a slash, `?` one character. Undefined where it is invalid. */
export function compilePattern(pattern: string): ((name: string) => boolean) | undefined {
  // The market's globs stop at a slash only.
  const flat = (text: string) => text.toLowerCase().replaceAll("/", "\n");
  const matches = compileGlob(flat(pattern));
  return matches && ((name) => matches(flat(name)));
}

/** A value that the market's parser rejects is an issue of the schema. */
function readBy<T>(read: (text: string) => T) {
  return z.union([z.string(), z.number()], { error: "one value is expected here" }).transform((given, context) => {
    try {
      return read(String(given));
    } catch (thrown) {
      if (!(thrown instanceof ProviderError)) throw thrown;
      context.addIssue({ code: "custom", message: reasonOf(thrown) });
      return z.NEVER;
    }
  });
}

const address = readBy(parseAddress);
const bytes = readBy(parseBytes);
const count = readBy(parseCount);
const dryRun = z.boolean().default(false);

const time = z.string().transform((text, context) => {
  const isTime = z.iso.datetime({ offset: true }).safeParse(text).success;
  if (isTime) return parseTime(text);
  context.addIssue({ code: "custom", message: `"${text}" is no time; write it like 2026-12-01T22:00:00Z` });
  return z.NEVER;
});

const tenants = z
  .strictObject({ allow: z.array(address).optional(), refuse: z.array(address).default([]), "dry-run": dryRun })
  .transform(({ allow, refuse, "dry-run": dryRun }) => {
    return { allow: allow && new Set(allow), refuse: new Set(refuse), dryRun };
  });

const storageClass = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.-]*$/, "a storage class has lower-case letters, digits, dashes and dots");
const gpuModel = z.string().regex(/^(\*|[a-z0-9][a-z0-9-]*)$/, "a model is like h100, or * for all gpus together");

const caps = z
  .strictObject({
    cpu: readBy(parseCpuMilli).optional(),
    memory: bytes.optional(),
    gpu: z.record(gpuModel, count).default({}),
    storage: z.record(storageClass, bytes).default({}),
    ips: count.optional(),
    "dry-run": dryRun,
  })
  .transform(({ cpu, memory, gpu, storage, ips, "dry-run": dryRun }) => {
    const single = Object.entries({ cpu, memory, ips }).filter(([, most]) => most !== undefined);
    const gpus = Object.entries(gpu).map(([model, count]) => [model === "*" ? "gpu" : `gpu ${model}`, count]);
    const classes = Object.entries(storage).map(([name, bytes]) => [`storage-${name}`, bytes]);
    /** The most sold in all, bids and leases together, by resource as `soldWith` of the market counts it. */
    const most: ReadonlyMap<string, bigint> = new Map([...single, ...gpus, ...classes] as [string, bigint][]);
    return { most, dryRun };
  });

const maintenanceWindow = z
  .strictObject({ from: time, until: time.optional(), "dry-run": dryRun })
  .transform(({ from, until, "dry-run": dryRun }, context) => {
    if (until !== undefined && until <= from) {
      context.addIssue({ code: "custom", path: ["until"], message: "it ends before it begins" });
    }
    return { fromMs: from, untilMs: until, dryRun };
  });

const pattern = z.string().transform((text, context) => {
  const matches = text === "" ? undefined : compilePattern(text);
  if (matches) return { pattern: text, matches };
  context.addIssue({ code: "custom", message: `"${text}" is no pattern; write it like ghcr.io/acme/*` });
  return z.NEVER;
});
const names = z
  .strictObject({ allow: z.array(pattern).optional(), refuse: z.array(pattern).default([]), "dry-run": dryRun })
  .transform(({ allow, refuse, "dry-run": dryRun }) => ({ allow, refuse, dryRun }));

const policyShape = z
  .strictObject({
    tenants: tenants.optional(),
    images: names.optional(),
    hostnames: names.optional(),
    caps: caps.optional(),
    maintenance: z.array(maintenanceWindow).default([]),
    "demand-configured-attributes": z
      .strictObject({ enabled: z.boolean(), "dry-run": dryRun })
      .default({ enabled: false, "dry-run": false }),
  })
  .transform(({ tenants, images, hostnames, caps, maintenance, "demand-configured-attributes": demand }) => {
    const mode = demand["dry-run"] ? "dry-run" : "on";
    return {
      /** About manifests: what a lease runs is not known when we bid. */
      ...{ images, hostnames },
      ...{ tenants, caps },
      /** By the beginning of each. */
      maintenance: maintenance.toSorted((left, right) => left.fromMs - right.fromMs),
      /** Every attribute of provider.yaml becomes a demand on the order. */
      demandConfiguredAttributes: demand.enabled ? mode : ("off" as const),
    };
  });

export type Policies = z.output<typeof policyShape>;
/** A missing `allow` allows every name. */
export type NamePolicy = NonNullable<Policies["images"]>;

export const noPolicies: Policies = policyShape.parse({});

/** Reports every fault with its line. `source` is the path of the file. Throws AKP_POLICY_REFUSED. */
export function parsePolicies(text: string, source: string): Policies {
  const { value, problems } = readYamlText(text, policyShape, "write `{}` for no policies");
  if (!problems) return value;
  const reason = problems.slice(0, settingsFileFaults).join("; ");
  throw new ProviderError("AKP_POLICY_REFUSED", { source, reason, problems });
}

/** What a policy file means, in sentences. */
export function describePolicies(policies: Policies): string[] {
  const { tenants, caps, maintenance, demandConfiguredAttributes, images, hostnames } = policies;
  const sentences = [
    ...(tenants ? describeTenants(tenants).map((said) => said + dryRunNote(tenants)) : []),
    ...(images ? describeNames(images, "images are run").map((said) => said + dryRunNote(images)) : []),
    ...(hostnames ? describeNames(hostnames, "host names are served").map((said) => said + dryRunNote(hostnames)) : []),
    ...(caps ? describeCaps(caps).map((said) => `At most ${said} is sold in all${dryRunNote(caps)}`) : []),
    ...maintenance.map((window) => {
      const end = window.untilMs === undefined ? "until further notice" : `until ${formatTime(window.untilMs)}`;
      return `No bids from ${formatTime(window.fromMs)} ${end}${dryRunNote(window)}`;
    }),
  ];
  if (demandConfiguredAttributes !== "off") {
    const dryRun = demandConfiguredAttributes === "dry-run";
    sentences.push(`Orders must require every attribute of provider.yaml${dryRunNote({ dryRun })}`);
  }
  return sentences.length > 0 ? sentences.map((sentence) => `${sentence}.`) : ["Nothing is rejected."];
}

function dryRunNote({ dryRun }: { readonly dryRun: boolean }): string {
  return dryRun ? " (dry-run: violations are recorded, and pass)" : "";
}

function describeTenants({ allow, refuse }: NonNullable<Policies["tenants"]>): string[] {
  return [
    ...(allow ? [`Only these tenants are served: ${[...allow].join(", ") || "none"}`] : []),
    ...(refuse.size > 0 ? [`These tenants are rejected: ${[...refuse].join(", ")}`] : []),
  ];
}

function describeNames({ allow, refuse }: NamePolicy, what: string): string[] {
  const list = (patterns: NamePolicy["refuse"]) => patterns.map(({ pattern }) => pattern).join(", ") || "none";
  const [thing = ""] = what.split(" are ");
  return [
    ...(allow ? [`Only these ${what}: ${list(allow)}`] : []),
    ...(refuse.length > 0 ? [`These ${thing} are rejected: ${list(refuse)}`] : []),
  ];
}

function describeCaps({ most }: NonNullable<Policies["caps"]>): string[] {
  return Array.from(most, ([resource, amount]) => `${showResource(resource, amount)} of ${resource}`);
}
