/** Reads a policy file. Everything that is wrong is told at once, each with its line; a word it does not know is wrong. */
import { z } from "zod";
import { parseAddress } from "../../market/address.ts";
import { parseBytes, parseCount, parseCpuMilli } from "../../market/quantity.ts";
import { parseTime } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { settingsFileFaults } from "../../runtime/limits.ts";
import { readYamlText } from "../../runtime/yaml-text.ts";
import { compilePattern } from "./judgement.ts";
import type { MaintenanceWindow, Policies } from "./policies.ts";

/** `source` is how a person calls the text: the path of its file. Throws AKP_POLICY_REFUSED. */
export function parsePolicies(text: string, source: string): Policies {
  const { value, problems } = readYamlText(text, policyShape, "write `{}` for no policies");
  if (!problems) return value;
  const told = problems.slice(0, settingsFileFaults).join("; ");
  throw new ProviderError("AKP_POLICY_REFUSED", { source, reason: told, problems });
}

/** What the market refuses to read is an issue of the schema. */
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
    const most = new Map<string, bigint>();
    if (cpu !== undefined) most.set("cpu", cpu);
    if (memory !== undefined) most.set("memory", memory);
    for (const [model, count] of Object.entries(gpu)) most.set(model === "*" ? "gpu" : `gpu ${model}`, count);
    for (const [name, bytes] of Object.entries(storage)) most.set(`storage-${name}`, bytes);
    if (ips !== undefined) most.set("ips", ips);
    return { most, dryRun };
  });

const maintenanceWindow = z
  .strictObject({ from: time, until: time.optional(), "dry-run": dryRun })
  .transform(({ from, until, "dry-run": dryRun }, context): MaintenanceWindow => {
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
  .transform(({ tenants, images, hostnames, caps, maintenance, "demand-configured-attributes": demand }): Policies => {
    return {
      tenants,
      images,
      hostnames,
      caps,
      maintenance: [...maintenance].sort((left, right) => left.fromMs - right.fromMs),
      demandConfiguredAttributes: demand.enabled ? (demand["dry-run"] ? "dry-run" : "on") : "off",
    };
  });
