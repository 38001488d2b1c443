/**
 * A provider on the stage of leases, in which every condition can be caused and fixed, and the views that show one: the
 * answer over the control socket, the table of the command, the status, the metric and the notification.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createPolicySource } from "../../src/bidengine/policies/policy-source.ts";
import { createSigner, type Signer } from "../../src/chain/keys/signer.ts";
import { conditionRows } from "../../src/cli/control.ts";
import type { PoolUsage } from "../../src/cluster/capacity/addresses/ip-operator.ts";
import type { HostHealth } from "../../src/cluster/leases/declarations/hostname-feed.ts";
import type { HeldCondition } from "../../src/conditions/held-conditions.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { parseCoins } from "../../src/market/coin.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createRedactor } from "../../src/runtime/redact.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { type SnapshotFeed, snapshotFeed } from "../support/stages/bid-stage.ts";
import {
  bidding,
  declaredAddresses,
  type LeaseStage,
  type Life,
  machine,
  onLeaseStage,
} from "../support/stages/lease-stage.ts";
import { certificateFiles, day, publicHost } from "./certificate-files.ts";

/** What a start of the provider differs in. */
export interface Given {
  readonly missingSettings?: readonly string[];
  /** What the wallet is to have at least. */
  readonly warnBalance?: string;
  /** Whether it keeps others with its key out. */
  readonly exclusive?: boolean;
  /** Whether it has a gateway, with a certificate in files. */
  readonly gateway?: boolean;
  /** The text of its policy file. */
  readonly policies?: string;
  /** Where a Redis should be. */
  readonly redis?: string;
}

export interface World {
  readonly stage: LeaseStage;
  /** Accounts with money besides the stage's own tenant. */
  readonly tenants: readonly Signer[];
  readonly node: FaultTransport;
  readonly feed: SnapshotFeed;
  readonly files: ReturnType<typeof certificateFiles>;
  /** Of the newest life. */
  readonly life: Life;
  /** What the ports of the provider say. */
  settings: string | undefined;
  usage: PoolUsage | Error | undefined;
  hosts: { unhealthy: HostHealth[]; unserved: string[]; error: string | undefined; missing: string | undefined };
  /** Ends this life and begins another. */
  restart(given?: Given): Promise<void>;
}

export interface Row {
  /** Of the start in which it is caused. */
  readonly given?: Given;
  readonly cause: (world: World) => unknown;
  /** By default the provider starts again, without what was given. */
  readonly cure?: (world: World) => unknown;
  readonly reason?: string;
  readonly status?: "Unknown";
}

type Posted = Readonly<Record<"type" | "condition" | "status" | "reason" | "message" | "since" | "provider", string>>;

/** Causes it, looks at it in every view, fixes it, and looks again. */
export async function playCondition(t: TestContext, type: string, row: Row): Promise<void> {
  const posted: Posted[] = [];
  t.mock.method(globalThis, "fetch", async (_: unknown, { body }: { body: string }) => {
    posted.push(JSON.parse(body));
    return new Response(null, { status: 204 });
  });
  const tenants = [21, 22, 23].map((byte) => createSigner(Buffer.alloc(32, byte)));
  await onLeaseStage({ dir: memoryFolder(t), tenants }, async (stage) => {
    const world = await openWorld(t, stage, tenants, row.given);
    const seen = () => (world.life.ask("conditions") as readonly HeldCondition[]).filter((each) => each.type === type);
    const raised = () => posted.filter(({ condition }) => condition === type);
    assert.deepEqual(seen(), [], "it does not hold before its cause");
    await row.cause(world);
    await stage.until(`${type} holds`, () => seen().length > 0 && raised().length > 0);
    const [held] = seen();
    assert.ok(held);
    const { status = "True", reason = type } = row;
    assert.deepEqual([held.status, held.reason], [status, reason]);
    assert.ok(held.message.length > 10 && held.sinceMs <= stage.clock.now());
    assert.match(conditionRows(seen(), stage.clock.now())[1] ?? "", new RegExp(`^${type} +${status} +${reason} +\\d`));
    assert.ok(world.life.status().conditions?.some((each) => each.type === type));
    assert.match(await world.life.metrics(), new RegExp(`^akash_provider_conditions\\{type="${type}"\\} [1-9]`, "m"));
    const [first] = raised();
    assert.deepEqual([first?.type, first?.status, first?.reason], ["raised", status, reason]);
    assert.equal(first?.provider, stage.provider.address);

    await (row.cure ?? (() => world.restart()))(world);
    await stage.until(`${type} is over`, () => seen().length === 0 && raised().at(-1)?.type === "cleared");
    assert.equal(raised().at(-1)?.status, "False");
    assert.doesNotMatch(await world.life.metrics(), new RegExp(`^akash_provider_conditions\\{type="${type}"`, "m"));
    await world.life.stop();
  });
}

async function openWorld(
  t: TestContext,
  stage: LeaseStage,
  tenants: readonly Signer[],
  given: Given | undefined,
): Promise<World> {
  const files = certificateFiles(t, stage);
  files.write(300 * day);
  stage.cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "operator");
  const played = declaredAddresses(stage.cluster);
  let life: Life | undefined;
  const world = {
    ...{ stage, tenants, files, settings: undefined as string | undefined, usage: undefined as World["usage"] },
    node: faultTransport(stage.node.transport()),
    feed: snapshotFeed(stage.clock, machine.cpuMilli, [], ["beta3"]),
    hosts: { unhealthy: [], unserved: [], error: undefined, missing: undefined } as World["hosts"],
    get life() {
      assert.ok(life);
      return life;
    },
    async restart(next?: Given) {
      await life?.stop();
      world.node = faultTransport(stage.node.transport());
      life = stage.start(optionsOf(next));
      await life.services;
    },
  };

  function optionsOf({ missingSettings = [], warnBalance, exclusive, gateway, redis, policies }: Given = {}) {
    const { hosts } = world;
    const hostnames = {
      ...{ of: () => undefined, all: () => [], isConnected: true, run: untilAborted },
      ...{ unhealthy: () => hosts.unhealthy, unserved: () => hosts.unserved },
      get error() {
        return hosts.error;
      },
      get missing() {
        return hosts.missing;
      },
    };
    const usage = async (signal: AbortSignal) => {
      if (world.usage instanceof Error) throw world.usage;
      return world.usage ?? played.usage(signal);
    };
    const settings = {
      get trouble() {
        return world.settings;
      },
      ...{ current: {} as never, lastGood: undefined, onChange: () => undefined, close: () => undefined },
    };
    const policyFile = join(files.folder, "policies.yaml");
    if (policies !== undefined) writeFileSync(policyFile, policies);
    const policySource = () => createPolicySource(policies && policyFile, { clock: stage.clock, log: silentLog });
    const balance = { minimumBalance: [], threshold: [], fee: undefined, intervalMs: 60_000, periodMs: 0 };
    return {
      nodes: () => [world.node],
      market: {
        inventory: () => world.feed,
        hostnameFeed: () => hostnames,
        ipOperator: () => ({ ...played, usage }),
        bidengine: { ...bidding, missingSettings },
        policies: policySource,
      },
      more: {
        settings,
        notify: { url: "http://receiver.example.com/", redact: createRedactor().text },
        balance: { ...balance, warnBalance: parseCoins(warnBalance ?? "") },
        ...(redis !== undefined && { redis: { url: redis } }),
        ...(exclusive && { exclusive: { namespace: "akash-services", identity: "this" } }),
        ...(gateway && {
          gateway: {
            ...{ listen: { host: "127.0.0.1", port: 0 }, publicHost, version: "test" },
            certificate: { keptIn: { path: join(files.folder, "own.pem") }, files: files.paths },
          },
        }),
      },
    };
  }

  await world.restart(given);
  return world;
}
