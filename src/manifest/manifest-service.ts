/** Manifests: taken from tenants, checked against the chain, kept for their leases, and waited for. */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, Step } from "../chain/chain.ts";
import { manifestDeadline } from "../journal/deadlines.ts";
import type { Journal } from "../journal/journal.ts";
import { formatLeaseId, isLeaseKey } from "../market/ids.ts";
import { defineController } from "../runtime/controller.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { ResourceService, Scope } from "../runtime/lifecycle.ts";
import type { Queue } from "../runtime/queue.ts";
import { changedStatuses } from "../runtime/throttle.ts";
import { type ClusterSide, createChecks, type OperatorRules } from "./checks.ts";
import { createIntake, type Manifests } from "./intake.ts";
import { createManifestLoop } from "./manifest-loop.ts";
import { createManifestStates, type ManifestStates, type ManifestStatus, measureManifests } from "./manifest-status.ts";
import { createMissedTime } from "./missed-time.ts";

export interface ManifestOptions {
  /** How long a lease waits for its manifest before it is closed; 0 turns this off. */
  readonly timeoutMs: number;
  /** What is exposed over HTTP must have a host name of the tenant's, since we give it none. */
  readonly requireHost: boolean;
}

/** Left of every deadline after an outage of at least that long: deployment tools retry within a minute. */
export const resendGraceMs = 60_000;

interface ManifestDeps extends RuntimeDeps {
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly bus: Promise<Bus>;
  readonly cluster: Promise<ClusterSide>;
  /** Those in force at the time of the call. */
  readonly rules: () => OperatorRules;
}

export function createManifestService(
  options: ManifestOptions,
  deps: ManifestDeps,
): ResourceService<Manifests, ManifestStatus> {
  const { clock, random, rules } = deps;
  const log = deps.log.with({ module: "manifest" });
  const { promise: opened, resolve } = Promise.withResolvers<Manifests>();
  const queues: Queue[] = [];
  let states: ManifestStates | undefined;

  async function open(scope: Scope): Promise<Manifests> {
    const [chain, journal, bus, cluster] = await Promise.all([deps.chain, deps.journal, deps.bus, deps.cluster]);
    const { mirror, outbox } = chain;
    const status = changedStatuses(clock, () => ({ "akash.provider.manifest.status": own.status() }), bus.publish);
    const own = createManifestStates(status.ask);
    states = own;
    const onChange = (kind: "ManifestReceived" | "ManifestWithdrawn", lease: string, version: string) => {
      controller.add(lease, "high");
      bus.publish("akash.provider.event.manifest", { kind, lease, version });
    };
    const addWaiting = () => {
      for (const key of journal.read.deadlines.subjects(manifestDeadline)) controller.add(key, "low");
    };
    const checks = createChecks({ chain, cluster, rules, requireHost: options.requireHost, log });
    const graceMs = Math.min(options.timeoutMs, resendGraceMs);
    const missed = createMissedTime(chain, journal, graceMs);
    const loop = createManifestLoop({
      ...{ chain, journal, cluster, missed, states: own, log },
      timeoutMs: options.timeoutMs,
      onRestored: (key, version) => onChange("ManifestReceived", key, version),
    });
    const intake = createIntake({ ...{ journal, checks, loop, missed, states: own, log }, onChange });
    const controller = defineController({
      ...{ name: "manifests", reconcile: loop.look, clock, random, log },
      watch(add, onStop) {
        chain.onStep(({ changed }: Step) => {
          for (const { kind, key } of changed) if (kind === "lease") add(key);
          if (missed.note()) addWaiting();
        });
        onStop(
          outbox.onSettled(({ id }: Settled) => {
            const { subject } = journal.read.intents.get(id) ?? {};
            if (subject !== undefined && isLeaseKey(subject)) add(subject);
          }),
        );
        for (const { id } of mirror.leases()) add(formatLeaseId(id));
        // Deadlines are left of leases that ended while we were down.
        addWaiting();
      },
      status,
    });
    queues.push(controller.queue);
    controller.start(scope);
    return intake;
  }

  return {
    name: "manifest",
    // The cluster's side is there once the cluster was seen.
    waitsForOthers: true,
    opened,
    queues,
    async start(scope) {
      resolve(await open(scope));
    },
    detail() {
      if (!states) return "";
      const { leases, received, withdrawn, waiting } = states.status();
      const taken = withdrawn > 0 ? `, ${withdrawn} withdrawn` : "";
      return `${leases} lease(s): ${received} with a manifest, ${waiting} without${taken}`;
    },
    status: () => states?.status(),
    measure(metrics) {
      if (states) measureManifests(metrics, states);
    },
  };
}
