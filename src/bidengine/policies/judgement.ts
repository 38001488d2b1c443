/** What the policies say about one order or manifest. Pure: the same one at the same time is always judged the same. */
import type { JsonObject } from "../../bus/topics.ts";
import type { Address } from "../../market/address.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { soldWith } from "../../market/group-totals.ts";
import { showResource } from "../../market/quantity.ts";
import { formatTime } from "../../runtime/clock.ts";
import { judgeHostname, judgeImage } from "./name-patterns.ts";
import type { CapPolicy, Policies, TenantPolicy } from "./policies.ts";

export interface Judgement {
  readonly yes: boolean;
  readonly reason: string;
  /** A no that is only told, not done. */
  readonly dryRun: boolean;
  readonly evidence?: JsonObject;
}

export interface CapJudgement extends Judgement {
  /** Of a no: the order would be too much even if it were the only one. */
  readonly alone?: boolean;
}

export interface Judge {
  /** Whether we bid at all at this time. */
  bidding(nowMs: number): Judgement;
  tenant(owner: string): Judgement;
  /**
   * Give it the group with the gpus as they are offered, where it fits: a cap on a model counts what names that model. `sold`
   * is what is promised already, by resource.
   */
  caps(group: Pick<GroupSpec, "units">, sold: ReadonlyMap<string, bigint>): CapJudgement;
  readonly configuredAttributes: Policies["demandConfiguredAttributes"];
  image(image: string): Judgement;
  hostname(host: string): Judgement;
}

export function judgeBy(policies: Policies): Judge {
  const { tenants, caps, maintenance, demandConfiguredAttributes, images, hostnames } = policies;
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
    caps: (group, sold) => (caps ? judgeCaps(caps, group, sold) : yes("nothing is capped")),
    configuredAttributes: demandConfiguredAttributes,
    image: (image) => (images ? judgeImage(images, image) : yes("every image is run")),
    hostname: (host) => (hostnames ? judgeHostname(hostnames, host) : yes("every host name is served")),
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

function judgeCaps({ most: caps, dryRun }: CapPolicy, { units }: Pick<GroupSpec, "units">, sold: Sold): CapJudgement {
  const evidence: Record<string, { wanted: string; sold: string; most: string }> = {};
  let alone = false;
  const wanted = soldWith(units);
  for (const [resource, most] of caps) {
    const show = (amount: bigint) => showResource(resource, amount);
    const [more, before] = [wanted.get(resource) ?? 0n, sold.get(resource) ?? 0n];
    // Whoever asks for none of it does not care.
    if (more === 0n || before + more <= most) continue;
    evidence[resource] = { wanted: show(more), sold: show(before), most: show(most) };
    alone ||= more > most;
  }
  const above = Object.entries(evidence).map(
    ([resource, { wanted, sold, most }]) => `${wanted} of ${resource} (at most ${most}, of which ${sold} is sold)`,
  );
  if (above.length === 0) return yes("it is within the caps");
  return { yes: false, reason: `the policy offers less than ${above.join(", ")}`, dryRun, evidence, alone };
}

type Sold = ReadonlyMap<string, bigint>;
