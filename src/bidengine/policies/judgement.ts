/** What the policies say about one order. Pure: the same order at the same time is always judged the same. */
import type { JsonObject } from "../../bus/topics.ts";
import type { Address } from "../../market/address.ts";
import type { GroupSpec, ResourceUnit } from "../../market/group-spec.ts";
import { leasedAddressesOf, storageOf, totalOf } from "../../market/group-totals.ts";
import { formatBytes, formatCpuMilli } from "../../market/quantity.ts";
import { formatTime } from "../../runtime/clock.ts";
import type { CapPolicy, Policies, TenantPolicy } from "./policies.ts";

export interface Judgement {
  readonly yes: boolean;
  readonly reason: string;
  /** A no that is only told, not done. */
  readonly dryRun: boolean;
  readonly evidence?: JsonObject;
}

export interface Judge {
  /** Whether we bid at all at this time. */
  bidding(nowMs: number): Judgement;
  tenant(owner: string): Judgement;
  /** Give it the group with the gpus as they are offered, where it fits: a cap on a model counts what names that model. */
  caps(group: Pick<GroupSpec, "units">): Judgement;
  readonly configuredAttributes: Policies["demandConfiguredAttributes"];
}

export function judgeBy({ tenants, caps, maintenance, demandConfiguredAttributes }: Policies): Judge {
  return {
    bidding(nowMs) {
      const now = maintenance.filter(
        ({ fromMs, untilMs = Number.POSITIVE_INFINITY }) => fromMs <= nowMs && nowMs < untilMs,
      );
      // One that really holds goes before one that is only tried.
      const window = now.find(({ dryRun }) => !dryRun) ?? now[0];
      if (!window) return yes("no maintenance");
      const { fromMs, untilMs, dryRun } = window;
      const end = untilMs === undefined ? "until further notice" : `until ${formatTime(untilMs)}`;
      const evidence = { from: formatTime(fromMs), until: untilMs === undefined ? null : formatTime(untilMs) };
      return { yes: false, reason: `maintenance since ${formatTime(fromMs)}, ${end}`, dryRun, evidence };
    },
    tenant: (owner) => (tenants ? judgeTenant(tenants, owner) : yes("every tenant is served")),
    caps: (group) => (caps ? judgeCaps(caps, group) : yes("nothing is capped")),
    configuredAttributes: demandConfiguredAttributes,
  };
}

function yes(reason: string): Judgement {
  return { yes: true, reason, dryRun: false };
}

/** A tenant that stands in both lists is refused: whoever adds one to `refuse` means it. */
function judgeTenant({ allow, refuse, dryRun }: TenantPolicy, owner: string): Judgement {
  const tenant = owner.toLowerCase() as Address;
  if (refuse.has(tenant))
    return { yes: false, reason: "the tenant is refused by the policy", dryRun, evidence: { owner } };
  if (allow && !allow.has(tenant)) {
    return { yes: false, reason: "the tenant is not among those that the policy allows", dryRun, evidence: { owner } };
  }
  return yes(allow ? "the tenant is allowed by the policy" : "the tenant is not refused by the policy");
}

function judgeCaps(caps: CapPolicy, { units }: Pick<GroupSpec, "units">): Judgement {
  const evidence: Record<string, { wanted: string; most: string }> = {};
  const within = (resource: string, wanted: bigint, most: bigint | undefined, show: (amount: bigint) => string) => {
    if (most !== undefined && wanted > most) evidence[resource] = { wanted: show(wanted), most: show(most) };
  };
  within(
    "cpu",
    totalOf(units, ({ cpu }) => cpu.milli),
    caps.cpuMilli,
    formatCpuMilli,
  );
  within(
    "memory",
    totalOf(units, ({ memory }) => memory.bytes),
    caps.memoryBytes,
    formatBytes,
  );
  for (const [model, most] of caps.gpus) {
    const counts = (unit: ResourceUnit) => model === "*" || namesModel(unit, model);
    const wanted = totalOf(units, (unit) => (counts(unit) ? unit.gpu.count : 0n));
    within(model === "*" ? "gpu" : `gpu ${model}`, wanted, most, String);
  }
  const storage = storageOf(units);
  for (const [name, most] of caps.storageBytes) within(`storage-${name}`, storage.get(name) ?? 0n, most, formatBytes);
  within("ips", BigInt(leasedAddressesOf(units)), caps.ips, String);
  const above = Object.entries(evidence).map(([name, { wanted, most }]) => `${wanted} of ${name} (at most ${most})`);
  if (above.length === 0) return yes("the order is within the caps");
  const reason = `the order asks for more than the policy offers: ${above.join(", ")}`;
  return { yes: false, reason, dryRun: caps.dryRun, evidence };
}

function namesModel({ gpu }: ResourceUnit, model: string): boolean {
  return gpu.attributes.some(({ key }) => key.split("/")[3] === model);
}
