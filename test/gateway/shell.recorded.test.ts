/**
 * Replays every recorded shell against a whole provider over TLS, with leases of the same shape: the same frames in the same
 * order and the same end, except for the differences listed here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { bidOn } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { eventually } from "../support/eventually.ts";
import type { GatewayTenant } from "../support/gateway-tenant.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { openStream, upgradeHeaders } from "../support/stages/stream-stage.ts";
import {
  checkAllSeen,
  createComparison,
  createRecordings,
  createTranslation,
  type RecordedVector,
  readGatewayVectors,
  requestOf,
  sent,
} from "./recorded-gateway.ts";
import { oneService, serviceNamed, threeServices } from "./recorded-tenants.ts";

interface RecordedFrame {
  readonly dir: "client" | "server";
  readonly type: string;
  readonly code?: number;
  readonly text?: string;
  readonly base64?: string;
  /** Of a frame that is not shown whole. */
  readonly length?: number;
}

interface RecordedShell extends RecordedVector {
  readonly frames?: readonly RecordedFrame[];
  readonly close?: { readonly code: number | null };
}

interface IntendedShell {
  readonly why: string;
  readonly of: RegExp;
  /** What comes instead, each with its code before it. */
  readonly frames?: readonly (string | RegExp)[];
  readonly code?: number;
}

const noLease = '102 {"exit_code":0,"message":"kube: lease not found"}\n';

const leaseClosed = /^102 \{"exit_code":137,"message":".*lease.*"\}\n$/;

const intended: readonly IntendedShell[] = [
  {
    ...{ why: "nothing that was not run looks like success", frames: [noLease] },
    of: /^(unknown [gd]seq|lease of another owner|shell, closed, namespace gone|shell, lease active, no manifest sent)$/,
  },
  {
    ...{ why: "nor does what cannot be known", of: /^API server unreachable/ },
    frames: [/^102 \{"exit_code":0,"message":"what our leases have in the cluster is not known right now: .+"\}\n$/],
  },
  {
    ...{ why: "an empty frame of input ends the input", of: /bare code 104 are ignored$/ },
    frames: ['102 {"exit_code":0}\n'],
  },
  {
    ...{ why: "an empty word is a word", of: /^an empty argument cuts the command$/ },
    frames: ["100 a  b\n", '102 {"exit_code":0}\n'],
  },
  {
    ...{ why: "commands end with their client", of: /^processes left after clients went away$/ },
    frames: ['102 {"exit_code":0}\n'],
  },
  {
    ...{ why: "a shell ends with its lease, and says so", of: /^shell open, then the deployment is closed$/ },
    frames: [leaseClosed],
  },
  {
    ...{ why: "and so at a terminal", of: /^shell with tty open, then the deployment is closed$/ },
    frames: ["100 / # ", leaseClosed],
  },
  { why: "a close frame is always answered", of: /^client sends close 1000, no stdin$/, code: 1000 },
];

/** Ends of tokens. */
const leases = { access: "granular" };

test("recorded shells → the recorded frames, or listed differences", async (t) => {
  const slow = new Set<string>();
  const broken = new Map<string, object>();
  const stage = await startGatewayStage(t, {
    tenants: 3,
    behaviour: (_image, { pod }) => {
      const { namespace = "" } = pod.metadata;
      return slow.has(namespace) ? { startMs: 600_000 } : broken.get(namespace);
    },
  });
  const [one, two, three] = stage.tenants as [GatewayTenant, GatewayTenant, GatewayTenant];
  const namespaceOf = ({ address }: GatewayTenant, dseq: bigint) =>
    leaseNamespace(bidOn({ owner: address, dseq, gseq: 1, oseq: 1 }, stage.provider.address));
  const podsOf = (owner: GatewayTenant, dseq: bigint, service: string) =>
    stage.cluster.server
      .list(kinds.pod, { namespace: namespaceOf(owner, dseq) })
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith(service))
      .sort();
  const file = readGatewayVectors("shell.json");
  const recordings = createRecordings(file.vectors as readonly RecordedShell[]);
  const unseen = new Set(intended);
  let translate = createTranslation({});
  let openShells = 0;
  let closing: Promise<void> | undefined;

  async function deploy(owner: GatewayTenant, dseq: bigint, sdl = oneService()): Promise<void> {
    const manifests = await stage.services.manifests;
    await eventually("a manifest taken", async () => {
      await manifests?.submit({ owner: owner.address, dseq }, JSON.stringify(sdl.manifest));
      return true;
    });
  }

  slow.add(namespaceOf(one, 4_100_007n));
  broken.set(namespaceOf(one, 4_100_008n), { startMs: 600_000 });
  broken.set(namespaceOf(two, 4_100_005n), { exitAfterMs: 1, exitCode: 3 });
  await Promise.all([
    (async () => {
      await one.lease(4_100_001n, threeServices());
      await one.deployed(4_100_007n, serviceNamed("db"));
      await one.deployed(4_100_008n, serviceNamed("bad"));
    })(),
    (async () => {
      await two.deployed(4_100_005n, oneService());
      await two.deployed(4_100_103n, oneService());
    })(),
    // From now on the chain knows the tenant's key.
    three.lease(1n),
  ]);
  const certificate = await one.certificate();

  function authorizationOf({ name, request }: RecordedShell): string | undefined {
    const permissions = (scope: string[], services: string[]) => [
      {
        ...{ provider: stage.provider.address, access: "granular" },
        deployments: [{ dseq: 4_100_001, gseq: 0, oseq: 0, scope, services }],
      },
    ];
    if (name === "no credentials" || request.auth?.startsWith("mTLS")) return undefined;
    if (name.startsWith("wrong scope")) return one.bearer({ leases: { access: "scoped", scope: ["logs"] } });
    if (name === "token for another service")
      return one.bearer({ leases: { ...leases, permissions: permissions(["shell"], ["api"]) } });
    return stage.tenants[Number(/tenant(\d)/.exec(request.auth ?? "")?.[1] ?? 1) - 1]?.bearer();
  }

  async function playOne(vector: RecordedShell): Promise<void> {
    const { name, answer, request, frames = [], close } = vector;
    const row = intended.find(({ of }) => of.test(name));
    const client = await openStream(stage.port, {
      ...requestOf(vector, (text) => quicker(translate(text))),
      ...(request.upgrade && { headers: upgradeHeaders }),
      authorization: authorizationOf(vector),
      ...(request.auth?.startsWith("mTLS") && { certificate }),
    });
    try {
      assert.ok(client.answer, name);
      if (answer.status !== 101 || name === "token for another service") {
        comparison.compare(vector, client.answer);
        return;
      }
      assert.equal(client.answer.status, 101, name);
      const received = () => merged(client.frames.flatMap(({ type, bytes }) => (type === "binary" ? [bytes] : [])));
      let wanted = merged([]);
      let hasLeft = false;
      const seen: Buffer[] = [];
      for (const frame of frames) {
        if (frame.dir === "server") {
          if (frame.type === "binary") seen.push(bytesOf(frame));
          wanted = merged(seen).map(translate);
          continue;
        }
        // What is answered to what was sent before comes first.
        if (!row?.frames) await client.until(() => JSON.stringify(received()) === JSON.stringify(wanted));
        if (frame.type === "tcp reset/close") hasLeft = true;
        else if (frame.type === "close") client.send("close", Buffer.of(0x03, 0xe8));
        else if (frame.type !== "pong") client.send(frame.type as "text", bytesOf(frame));
      }
      if (hasLeft) return;
      if (name.includes("then the deployment is closed")) {
        await client.until(() => !name.includes("tty") || received().length > 0);
        openShells += 1;
        await eventually("both of them", () => openShells === 2);
        closing ??= two.close(4_100_103n);
        await closing;
      }
      const hasResult = wanted.some((text) => text.startsWith("102 ")) || row?.frames !== undefined;
      // After its last frame the Go provider just hangs up; we say that all is well.
      const code = row?.code ?? (hasResult ? 1000 : (close?.code ?? null));
      if (code === null) await quiet(client);
      else await client.until(() => client.close !== undefined);
      if (row?.frames) matches(received(), row.frames, name);
      else assert.deepEqual(received(), wanted, name);
      assert.equal(client.close?.code ?? null, code, name);
      if (row) unseen.delete(row);
      if (code === null) return;
      client.send("close", Buffer.of(0x03, 0xe8));
      await client.until(() => client.isEnded);
    } finally {
      client.socket.destroy();
    }
  }

  const comparison = createComparison(
    [
      {
        ...{ why: "a token's services are those that it opens", of: /^token for another service$/, status: 401 },
        body: '{"message":"unauthorized access"}',
      },
      {
        ...{ why: "a shell has one verb, as every other route of a lease", of: /^(POST|PUT) with upgrade/ },
        ...{ status: 404, body: "404 page not found\n", headers: sent.text },
      },
    ],
    (text) => text,
  );

  async function play(...names: readonly RegExp[]): Promise<void> {
    for (const vector of recordings.take(...names))
      await eventually(vector.name, async () => (await playOne(vector)) ?? true);
  }

  await play(/no manifest sent$/, /pod starting/, /no ready replica/, /^image cannot be pulled/, /^unknown [gd]seq$/);
  slow.clear();
  for (const name of podsOf(one, 4_100_007n, "db"))
    stage.cluster.server.delete(kinds.pod, { namespace: namespaceOf(one, 4_100_007n), name }, {});
  await deploy(one, 4_100_001n, threeServices());
  await eventually("two pods", () => podsOf(one, 4_100_001n, "api").length === 2);
  const ours = podsOf(one, 4_100_001n, "api");
  translate = createTranslation({
    "api-54945bc9cf-9dqzj": ours[0] ?? "",
    "api-54945bc9cf-wgjqf": ours[1] ?? "",
    "db-0": (await eventually("its pod", () => podsOf(one, 4_100_007n, "db")))[0] ?? "",
  });
  await play(/^(?!shell|API server|processes left|persistent)/);
  await play(/^persistent storage/);
  await play(/^processes left/);
  await Promise.all(recordings.take(/then the deployment is closed/).map(playOne));
  await eventually("the end", () => !stage.cluster.server.get(kinds.namespace, { name: namespaceOf(two, 4_100_103n) }));
  await play(/namespace gone$/);
  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await play(/^API server unreachable/);
  stage.cluster.faults.clear();
  recordings.finish();
  checkAllSeen(unseen);
  comparison.finish();
});

/** Nothing of what was recorded depends on how long a command takes. */
function quicker(path: string): string {
  return path
    .replace(/(cmd2=(?:[^&]*%3B\+)?sleep\+)(0\.3|1|23|33)(?=%3B)/g, "$10.02")
    .replace(/sleep\+0\.3(?=%3B)/g, "sleep+0.02");
}

function bytesOf({ type, code, text = "", base64, length }: RecordedFrame): Buffer {
  if (length !== undefined) return Buffer.concat([Buffer.of(100), Buffer.alloc(length - 1, "x")]);
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  return type === "binary" && code !== undefined
    ? Buffer.concat([Buffer.of(code), Buffer.from(text)])
    : Buffer.from(text);
}

/** Output is split into frames arbitrarily, and a real shell prints more than the simulated one. */
function merged(frames: readonly Buffer[]): string[] {
  const all: { code: number; text: string }[] = [];
  for (const frame of frames) {
    const [code = 0, text] = [frame[0], frame.toString("latin1", 1)];
    const last = all.at(-1);
    if (last?.code === code) last.text += text;
    else all.push({ code, text });
  }
  return all.map(({ code, text }) => `${code} ${plain(text)}`);
}

/** Its greeting, where its cursor is, what it draws again, its own path, and the number of its terminal. */
function plain(text: string): string {
  return text
    .replace(/\r\n\r\nBusyBox .*\r\n.*\r\n\r\n/, "")
    .replaceAll("\u001b[6n", "")
    .replaceAll("\r/ # \u001b[J", "")
    .replaceAll("/bin/sh: ", "sh: ")
    .replace(/\/dev\/pts\/\d+/, "/dev/pts/N");
}

function matches(received: readonly string[], wanted: readonly (string | RegExp)[], name: string): void {
  assert.equal(received.length, wanted.length, `${name}: ${received.join()}`);
  for (const [index, want] of wanted.entries()) {
    if (want instanceof RegExp) assert.match(received[index] ?? "", want, name);
    else assert.equal(received[index], want, name);
  }
}

/** All that was sent has been read, and what it led to would have come. */
async function quiet(client: Awaited<ReturnType<typeof openStream>>): Promise<void> {
  for (let pings = 1; pings <= 3; pings += 1) {
    client.send("ping");
    await client.until(() => client.count("pong") >= pings);
  }
}
