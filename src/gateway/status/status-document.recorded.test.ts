/** What the Go provider showed, shown by ours of the same things: the same bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { parseAddress } from "../../market/address.ts";
import type { ClusterSummary, StatusAmounts } from "../../market/cluster-summary.ts";
import { statusBody } from "./status-document.ts";

interface Recording {
  readonly vectors: readonly { readonly name: string; readonly answer: { readonly body: string } }[];
}

interface AmountsJson {
  readonly cpu: number;
  readonly gpu: number;
  readonly memory: number;
  readonly storage_ephemeral: number;
  readonly storage?: Readonly<Record<string, number>>;
}

interface NodeJson {
  readonly name: string;
  readonly allocatable: AmountsJson;
  readonly available: AmountsJson;
}

interface StatusJson {
  readonly cluster: {
    readonly leases: number;
    readonly inventory: {
      readonly active?: readonly AmountsJson[];
      readonly pending?: readonly AmountsJson[];
      readonly available: {
        readonly nodes?: readonly NodeJson[];
        readonly storage?: readonly { readonly class: string; readonly size: number }[];
      };
    };
  };
  readonly bidengine: { readonly orders: number };
  readonly manifest: { readonly deployments: number };
  readonly cluster_public_hostname: string;
  readonly address: string;
}

for (const name of ["GET /status", "GET /status with running leases", "API server unreachable: GET /status"]) {
  test(`${name}: byte for byte as it was recorded`, () => {
    const { vectors } = readJsonRecording<Recording>("gateway/public.json");
    const recorded = vectors.find((vector) => vector.name === name)?.answer.body ?? "";
    const json = JSON.parse(recorded) as StatusJson;
    const body = statusBody({
      provider: parseAddress(json.address),
      publicHost: json.cluster_public_hostname,
      reclamationWindowMs: 0,
      cluster: clusterOf(json),
      orders: json.bidengine.orders,
      deployments: json.manifest.deployments,
      stale: [],
    });
    assert.equal(body, recorded);
  });
}

function clusterOf({ cluster: { leases, inventory } }: StatusJson): ClusterSummary {
  const { active = [], pending = [], available } = inventory;
  const promised = (isActive: boolean) => (json: AmountsJson) => ({
    isActive,
    promised: {
      ...amountsOf(json),
      storage: new Map(
        Object.entries(json.storage ?? {}).map(([storageClass, bytes]) => [storageClass, BigInt(bytes)]),
      ),
    },
  });
  const fresh = { ageMs: 0, error: undefined };
  return {
    leases,
    reservations: () => [...pending.map(promised(false)), ...active.map(promised(true))],
    nodes: () =>
      (available.nodes ?? []).map((node) => ({
        name: node.name,
        allocatable: amountsOf(node.allocatable),
        free: amountsOf(node.available),
      })),
    inventoryMessage: undefined,
    addresses: { total: 0n, left: 0n },
    storage: () => (available.storage ?? []).map(({ class: name, size }) => ({ class: name, free: BigInt(size) })),
    ...{ inventory: fresh, workloads: fresh },
  };
}

function amountsOf({ cpu, gpu, memory, storage_ephemeral }: AmountsJson): StatusAmounts {
  return {
    cpuMilli: BigInt(cpu),
    gpus: BigInt(gpu),
    memoryBytes: BigInt(memory),
    ephemeralBytes: BigInt(storage_ephemeral),
  };
}
