/**
 * Replays every recorded event stream of the Go gateway against a whole provider over TLS: the same frames and close codes,
 * except for the differences listed here. The simulated cluster has the recorded Events.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { bidOn } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { eventually } from "../support/eventually.ts";
import { type GatewayStage, startGatewayStage } from "../support/stages/gateway-stage.ts";
import { openStream, upgradeHeaders } from "../support/stages/stream-stage.ts";
import {
  checkAllSeen,
  createComparison,
  createRecordings,
  createTranslation,
  readGatewayVectors,
  requestOf,
} from "./recorded-gateway.ts";
import type { RecordedStream } from "./recorded-streams.ts";

interface SentEvent {
  readonly reportingController?: string;
  readonly object: { readonly kind: string; readonly name: string };
}

/** Intended differences. */
interface IntendedStream {
  readonly why: string;
  readonly of: RegExp;
  /** The recording with the events that ours sends. */
  readonly expectedOf?: string;
  readonly code?: number;
}

const intended: readonly IntendedStream[] = [
  {
    why: "a service's events are those about its pods; Events carry no label",
    of: /service filter$/,
    expectedOf: "list",
  },
  {
    why: "a stream ends with its lease, and nothing is sent twice",
    of: /^follow, then the deployment is closed$/,
    code: 1000,
  },
];

/** Reporting controllers that the recording does not have. */
const ownWords = "akash.network/provider";

test("recorded event streams → the recorded frames, or listed differences", async (t) => {
  const stage = await startGatewayStage(t, { tenants: 3 });
  const replay = await createReplay(stage);
  await replay.play(/^(parameters|no credentials|unknown|lease of another|events(?!, closed))/);
  await replay.play(/^(list|image cannot|follow, (client|service|pings))/);
  await replay.play(/^follow, then the deployment is closed$/);
  await replay.play(/^events, closed, namespace gone$/);
  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await replay.play(/^API server unreachable/);
  stage.cluster.faults.clear();
  replay.finish();
});

async function createReplay(stage: GatewayStage) {
  const file = readGatewayVectors("events.json");
  const streams = file.vectors as readonly RecordedStream[];
  const recordings = createRecordings(streams);
  const unseen = new Set(intended);
  let ownSeen = 0;
  const [one, two, three] = stage.tenants;
  assert.ok(one && two && three);
  const namespaces = file.volatile["namespaces"] as unknown as string[];
  const leases = [
    [one, 4_100_002n, "list"],
    [two, 4_100_005n, "list of a service that ends at once"],
    [two, 4_100_103n, "follow, then the deployment is closed"],
    [one, 4_100_008n, "image cannot be pulled: list"],
  ] as const;
  await Promise.all([
    one
      .lease(4_100_001n)
      .then(() => one.deployed(4_100_002n))
      .then(() => one.deployed(4_100_008n)),
    // From now on the chain knows the tenant's key.
    three.lease(1n),
    two.deployed(4_100_005n).then(() => two.deployed(4_100_103n)),
  ]);
  const ours = leases.map(([{ address }, dseq]) =>
    leaseNamespace(bidOn({ owner: address, dseq, gseq: 1, oseq: 1 }, stage.provider.address)),
  );
  const translate = createTranslation(
    Object.fromEntries(namespaces.map((theirs, index) => [theirs, ours[index] ?? ""])),
  );
  const comparison = createComparison([], translate);
  for (const [index, [, , name]] of leases.entries()) replay(name, ours[index] ?? "");

  /** Creates the lease's Events in the recorded order, some time ago. */
  function replay(name: string, namespace: string): void {
    for (const [index, text] of textsOf(name).entries()) {
      const { object, ...recorded } = JSON.parse(text) as SentEvent;
      const eventTime = new Date(Date.now() - 60_000 + index).toISOString().replace("Z", "000Z");
      const fields = {
        reportingInstance: "",
        ...recorded,
        eventTime,
        regarding: { ...object, namespace },
        action: "Test",
      };
      stage.cluster.server.create(
        kinds.event,
        { metadata: { namespace, name: `recorded.${index}` }, ...fields },
        "test",
      );
    }
  }

  /** Once each: when a lease is closed, the Go gateway sends all of it again. */
  function textsOf(name: string): string[] {
    const frames = streams.find((each) => each.name === name)?.frames ?? [];
    return [...new Set(frames.flatMap(({ type, text }) => (type === "text" && text ? [translate(text)] : [])))];
  }

  /** Events of the recording; others are of pods that run here, or made by the provider. */
  function recordedAmong(texts: readonly string[]): string[] {
    return texts.filter((text) => {
      const { reportingController, object } = JSON.parse(text) as SentEvent;
      if (reportingController === ownWords) ownSeen += 1;
      return reportingController !== ownWords && !object.name.startsWith("cell");
    });
  }

  async function playOne(vector: RecordedStream): Promise<void> {
    const { name, answer, request, frames = [], close } = vector;
    const tenant = stage.tenants[Number(/tenant(\d)/.exec(request.auth ?? "")?.[1] ?? 1) - 1];
    const authorization = request.auth === "none" ? undefined : tenant?.bearer();
    const client = await openStream(stage.port, {
      ...requestOf(vector, translate),
      headers: upgradeHeaders,
      authorization,
    });
    try {
      assert.ok(client.answer, name);
      if (answer.status !== 101) return comparison.compare(vector, client.answer);
      assert.equal(client.answer.status, 101, name);
      const row = intended.find(({ of }) => of.test(name));
      if (row) unseen.delete(row);
      const wanted = textsOf(row?.expectedOf ?? name);
      const received = () => client.frames.filter(({ type }) => type === "text").map(({ bytes }) => bytes.toString());
      if (frames.some(({ dir, type }) => dir === "client" && type === "close")) {
        await client.until(() => recordedAmong(received()).length >= wanted.length);
        client.send("close", Buffer.of(0x03, 0xe8));
      }
      const code = row?.code ?? close?.code ?? null;
      if (row?.code !== undefined) {
        await client.until(() => recordedAmong(received()).length >= wanted.length);
        await two?.close(4_100_103n);
      }
      await client.until(() =>
        code === null ? recordedAmong(received()).length >= wanted.length : client.close !== undefined,
      );
      assert.deepEqual(recordedAmong(received()), wanted, name);
      assert.equal(client.close?.code ?? null, code, name);
      if (code === null) return assert.equal(client.isEnded, false, name);
      client.send("close", Buffer.of(0x03, 0xe8));
      await client.until(() => client.isEnded);
    } finally {
      client.socket.destroy();
    }
  }

  return {
    /** What is yet to come is waited for. */
    async play(names: RegExp): Promise<void> {
      for (const vector of recordings.take(names))
        await eventually(vector.name, async () => (await playOne(vector)) ?? true);
    },
    finish(): void {
      recordings.finish();
      checkAllSeen(unseen);
      assert.ok(ownSeen > 0, "the provider's own events are sent too");
      comparison.finish();
    },
  };
}
