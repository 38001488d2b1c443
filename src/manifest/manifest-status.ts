/** How things are with the manifest of every lease, for status and metrics: what the journal would have to be read for. */
import { deploymentOf, formatDeploymentId, parseLeaseId } from "../market/ids.ts";
import { formatTime } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";

/** Leases without a manifest that the status names. */
const manifestWaitsTold = 20;

type Standing = "received" | "withdrawn" | "waiting";

export interface ManifestStatus {
  /** With a lease of ours. */
  readonly deployments: number;
  readonly leases: number;
  readonly received: number;
  readonly withdrawn: number;
  readonly waiting: number;
  /** Those that wait for their manifest and until when, the most urgent first. */
  readonly waits: readonly { readonly lease: string; readonly until: string | null }[];
}

export type Standings = ReturnType<typeof createStandings>;

export function createStandings(onChange: () => void) {
  const leases = new Map<string, { readonly standing: Standing; readonly dueAtMs: number | undefined }>();
  const count = (wanted: Standing) => [...leases.values()].filter(({ standing }) => standing === wanted).length;
  const counts = { accepted: 0, replayed: 0, refused: 0, failed: 0, withdrawn: 0, restored: 0, timedOut: 0 };
  return {
    counts,
    note(key: string, standing: Standing, dueAtMs?: number): void {
      const before = leases.get(key);
      leases.set(key, { standing, dueAtMs });
      if (before?.standing !== standing || before.dueAtMs !== dueAtMs) onChange();
    },
    forget(key: string): void {
      if (leases.delete(key)) onChange();
    },
    get deployments(): number {
      return new Set(Array.from(leases.keys(), (key) => formatDeploymentId(deploymentOf(parseLeaseId(key))))).size;
    },
    /** Leases that are closed when their time comes. */
    get watched(): number {
      return [...leases.values()].filter(({ dueAtMs }) => dueAtMs !== undefined).length;
    },
    status(): ManifestStatus {
      const waits = [...leases].filter(([, { standing }]) => standing === "waiting");
      const dueOf = (dueAtMs: number | undefined) => dueAtMs ?? Number.POSITIVE_INFINITY;
      waits.sort(([, left], [, right]) => Math.sign(dueOf(left.dueAtMs) - dueOf(right.dueAtMs)) || 0);
      return {
        deployments: this.deployments,
        leases: leases.size,
        received: count("received"),
        withdrawn: count("withdrawn"),
        waiting: waits.length,
        waits: waits.slice(0, manifestWaitsTold).map(([lease, { dueAtMs }]) => {
          return { lease, until: dueAtMs === undefined ? null : formatTime(dueAtMs) };
        }),
      };
    },
  };
}

// The manifest service's metrics: the network's by their names, and what became of what was sent.

export function measureManifests(metrics: Metrics, standings: Standings): void {
  metrics.readEach("gauge", "provider", [
    ["manifest_manager", "Deployments with a lease of ours", () => standings.deployments],
    ["order_watchdog", "Leases that are closed unless their manifest comes in time", () => standings.watched],
  ]);
  metrics.readEach("counter", "akash_provider_manifest", [
    ["restored", "Manifests restored from the cluster", () => standings.counts.restored],
    ["timeouts", "Leases closed because no manifest came", () => standings.counts.timedOut],
  ]);
  const [name, help] = ["akash_provider_manifest_requests_total", "Manifests sent by tenants, by what came of them"];
  metrics.read({ name, help, kind: "counter", labels: ["result"] }, () => {
    const { restored: _, timedOut: __, ...requests } = standings.counts;
    return Object.entries(requests).map(([result, count]) => [{ result }, count]);
  });
}
