/** `akash-provider policies`: what a policy file means, and which of the last orders and manifests it would have rejected. */
import type { Command } from "commander";
import { type Judge, type Judgement, judgeBy } from "../bidengine/policies/judgement.ts";
import { describePolicies, noPolicies } from "../bidengine/policies/policies.ts";
import { readPolicyFile } from "../bidengine/policies/policy-source.ts";
import { groupIn } from "../journal/manifests.ts";
import type { SeenOrder } from "../journal/orders.ts";
import { type GroupJson, groupFromJson } from "../market/group-json.ts";
import { parseLeaseId, parseOrderId } from "../market/ids.ts";
import { hostsIn } from "../market/manifest.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import {
  type ControlClient,
  controlCommand,
  type OutputOptions,
  openControlClient,
  print,
  printJson,
  wholeNumber,
} from "./control.ts";

/** Remembered orders by which a policy file is tried; in the process of the command. */
const ordersJudged = 10_000;

interface PoliciesOptions extends OutputOptions {
  readonly check?: string;
  readonly limit: number;
}

export function policiesCommand(): Command {
  const command = controlCommand("policies", "what a policy file means, and which orders and manifests it would refuse")
    .option("--check <file>", "the file to look at; without it, the one of --policy-file")
    .option("--limit <number>", "how many orders of the journal are judged", wholeNumber(ordersJudged), 1_000)
    .addHelpText("after", "\nNothing is changed: the provider takes its policies from --policy-file, when it changes.");
  return command.action((options: PoliciesOptions, given: Command) => {
    const client = openControlClient(given);
    const path = options.check ?? client.settings.policyFile;
    const policies = path === undefined ? noPolicies : readPolicyFile(path);
    const judge = judgeBy(policies);
    const nowMs = realClock.now();
    const means = describePolicies(policies);
    const orders = lastOrders(client, options.limit);
    const refused = orders.flatMap((order) => refusalOf(judge, order));
    const manifests = heldManifests(client);
    const refusedManifests = manifests.flatMap((manifest) => refusalOfManifest(judge, manifest));
    if (options.json) {
      const judged = { judged: orders.length, refused, judgedManifests: manifests.length, refusedManifests };
      return printJson({ file: path ?? null, means, bidding: judge.bidding(nowMs), ...judged });
    }
    print([
      path ?? "no policy file is named",
      ...means.map((line) => `  ${line}`),
      `now: ${judge.bidding(nowMs).reason}`,
    ]);
    print([`of the last ${orders.length} orders it would refuse ${refused.length}`]);
    print(refused.map(({ orderId, reasons }) => `  ${orderId}  ${reasons.join("; ")}`));
    print([`of the manifests of ${manifests.length} leases it would refuse ${refusedManifests.length}`]);
    print(refusedManifests.map(({ leaseId, reasons }) => `  ${leaseId}  ${reasons.join("; ")}`));
  });
}

function lastOrders(client: ControlClient, limit: number): readonly Pick<SeenOrder, "orderId" | "spec">[] {
  return orNothing(() =>
    client.readJournal(({ orders }) => orders.recent(limit).map(({ orderId, spec }) => ({ orderId, spec }))),
  );
}

/** What the rules ask about, and nothing else of a manifest: it holds secrets. */
interface HeldManifest {
  readonly leaseId: string;
  readonly images: readonly string[];
  readonly hosts: readonly string[];
}

function heldManifests(client: ControlClient): readonly HeldManifest[] {
  return orNothing(() =>
    client.readJournal(({ manifests }) =>
      manifests.leaseIds().flatMap((leaseId): HeldManifest[] => {
        const row = manifests.get(leaseId);
        if (!row) return [];
        const group = groupIn(row.body);
        return [{ leaseId, images: group.services.map(({ image }) => image), hosts: hostsIn(group) }];
      }),
    ),
  );
}

/** A file can be looked at before there is a provider. */
function orNothing<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_JOURNAL_MISSING")) return [];
    throw thrown;
  }
}

/** Only what would be too much by itself is told: what was sold at that time is not remembered. */
const nothingSold: ReadonlyMap<string, bigint> = new Map();

interface Refused {
  readonly orderId: string;
  readonly reasons: readonly string[];
}

function refusalOf(judge: Judge, { orderId, spec }: Pick<SeenOrder, "orderId" | "spec">): Refused[] {
  const judgements = [
    judge.tenant(parseOrderId(orderId).owner),
    // Of an order that was too long to be kept, only the tenant is known.
    ...(spec === null ? [] : [judge.caps(groupFromJson(spec as GroupJson), nothingSold)]),
  ];
  const reasons = reasonsOf(judgements);
  return reasons.length > 0 ? [{ orderId, reasons }] : [];
}

function refusalOfManifest(judge: Judge, { leaseId, images, hosts }: HeldManifest) {
  const tenant = judge.tenant(parseLeaseId(leaseId).owner);
  const reasons = reasonsOf([tenant, ...images.map(judge.image), ...hosts.map(judge.hostname)]);
  return reasons.length > 0 ? [{ leaseId, reasons }] : [];
}

function reasonsOf(judgements: readonly Judgement[]): string[] {
  return judgements.filter(({ yes }) => !yes).map(({ reason, dryRun }) => (dryRun ? `dry run: ${reason}` : reason));
}
