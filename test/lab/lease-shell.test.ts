/** Commands in real containers: how they begin, and that they end when their tenant leaves. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, describe, it, type TestContext } from "node:test";
import { inTurn, medianRatio } from "../../bench/report.ts";
import { programImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import type { LeasePod } from "../../src/cluster/capacity/reservations/lease-watches.ts";
import { createLeaseShell } from "../../src/cluster/leases/tenant-pods/lease-shell.ts";
import { resizeFrame, shellCodes, shellFrame } from "../../src/gateway/streams/shell-frames.ts";
import { shellRoute } from "../../src/gateway/streams/shell-route.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { CommandRequest, TenantLease } from "../../src/kube/tenant-access.ts";
import { addressOf } from "../../src/market/address.ts";
import { bidOn, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { openStream, serveStreams } from "../support/stages/stream-stage.ts";
import { labIsMissing, removeNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";
import { runPod, runShell } from "./pods.ts";

const account = addressOf(realRandom.bytes(20));
const lease = bidOn({ owner: account, dseq: 7n, gseq: 1, oseq: 1 }, account);
const namespace = leaseNamespace(lease);
const service = "main";

describe("a command of a tenant", { skip: labIsMissing }, async () => {
  const kube = openKube({ after }, places.kubeconfig);
  const podsOf = ["bare", "box"].map((name) => ({ name, facts: { service, state: "ready" } }) as LeasePod);
  const deps = { kube, clock: realClock, random: realRandom, log: silentLog };
  const shell = createLeaseShell({ ...deps, pods: { in: () => podsOf } });
  if (!labIsMissing) {
    await kube.apply(kinds.namespace, { metadata: { name: namespace } });
    after(() => removeNamespace(namespace));
    const bare = { image: programImage("traefik"), command: ["/traefik"] };
    await Promise.all([
      runShell(kube, { namespace, name: "box" }, "true"),
      runPod(kube, { namespace, name: "bare" }, bare),
    ]);
  }

  interface Wish {
    readonly tty?: boolean;
    readonly stdin?: boolean;
    readonly podIndex?: number;
    readonly signal?: AbortSignal;
  }
  const exec = (command: readonly string[], wish: Wish = {}) =>
    shell.exec(lease, { service, podIndex: 1, signal: new AbortController().signal, ...wish, command });

  async function outputOf(command: readonly string[], wish?: Wish) {
    const session = await exec(command, wish);
    const [stdout, stderr, code] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
    return { stdout, stderr, code };
  }

  async function processes(): Promise<string> {
    return (await outputOf(["ps", "-o", "args"])).stdout;
  }

  it("has its own words, output and code, and nothing of how it was started", async () => {
    assert.deepEqual(await outputOf(["printf", "%s;", "a b", "", "$HOME"]), {
      stdout: "a b;;$HOME;",
      stderr: "",
      code: 0,
    });
    assert.deepEqual(await outputOf(["sh", "-c", "echo o; echo e >&2; exit 3"]), {
      stdout: "o\n",
      stderr: "e\n",
      code: 3,
    });
    assert.equal((await outputOf(["sh", "-c", "kill -9 $$"])).code, 137);
    const { stdout } = await outputOf(["sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline; tty"], { tty: true });
    assert.match(stdout, /^sh -c tr .*\/dev\/pts\/\d+\r\n$/);
  });

  it("that cannot be started fails with its reason", async () => {
    const codes = {
      AKP_SHELL_NO_SUCH_COMMAND: ["nothing", "/bin/nothing"],
      AKP_SHELL_NOT_STARTED: ["/tmp", "/etc/hosts"],
    };
    for (const [code, programs] of Object.entries(codes)) {
      for (const program of programs) await assert.rejects(outputOf([program]), { code }, program);
    }
    await assert.rejects(exec(["true"], { podIndex: 2 }), { code: "AKP_SHELL_NO_POD" });
  });

  it("runs in an image without any shell", async () => {
    const { stdout, code } = await outputOf(["/traefik", "version"], { podIndex: 0 });
    assert.deepEqual([/^Version:/.test(stdout), code], [true, 0]);
    await assert.rejects(outputOf(["/bin/sh"], { podIndex: 0 }), { code: "AKP_SHELL_NO_SUCH_COMMAND" });
  });

  it("is gone when its tenant is, with a terminal and without, and so is what it started", async () => {
    const leaving = new AbortController();
    const { signal } = leaving;
    let seconds = 7_700;
    for (const tty of [true, false]) {
      for (const stdin of [true, false]) {
        for (const command of [["sleep"], ["sh", "-c", 'trap "" HUP; sleep $0; true']]) {
          seconds += 1;
          await exec([...command, `${seconds}`], { tty, stdin, signal });
        }
      }
    }
    await exec(["sleep", "7799"]);
    const left = /sleep 77[0-8]\d/;
    assert.match(await processes(), left);
    leaving.abort(new Error("the tenant has left"));
    await eventually("the end of all of them", async () => !left.test(await processes()));
    assert.match(await processes(), /sleep 7799/);
  });

  /** The whole way from a tenant's socket, but for the chain: that the lease runs is taken as read. */
  async function overTls(t: TestContext) {
    const found = { state: "running", services: [{ name: service, readyReplicas: 2 }] } as unknown as TenantLease;
    const pods = { exec: (_: LeaseId, request: CommandRequest) => shell.exec(lease, request) };
    const route = shellRoute({ provider: account, leases: { find: () => found }, pods, log: silentLog });
    const { port } = await serveStreams(t, () => assert.fail("has its own"), route);
    return async (command: readonly string[], tty: boolean) => {
      const words = command.map((word, index) => `cmd${index}=${encodeURIComponent(word)}`).join("&");
      const flags = `service=${service}&podIndex=1&tty=${tty ? 1 : 0}&stdin=1`;
      const client = await openStream(port, { path: `/lease/1/1/1/shell?${flags}&${words}` });
      const said = (code: number) =>
        Buffer.concat(client.frames.flatMap(({ bytes }) => (bytes[0] === code ? [bytes.subarray(1)] : []))).toString();
      return {
        ...{ client, said },
        type: (typed: string) => client.send("binary", shellFrame(shellCodes.stdin, Buffer.from(typed))),
      };
    };
  }

  it("has a terminal of the tenant's size, half-closes its input, and returns its exit code, over TLS", async (t) => {
    const open = await overTls(t);
    const terminal = await open(["sh"], true);
    for (const [columns, rows] of [
      [80, 24],
      [132, 43],
    ] as const) {
      terminal.client.send("binary", resizeFrame({ columns, rows }));
      terminal.type("stty size\n");
      await terminal.client.until(() => terminal.said(shellCodes.stdout).includes(`${rows} ${columns}\r\n`));
    }
    terminal.type("exit 7\n");
    await terminal.client.until(() => terminal.client.close !== undefined);
    assert.equal(terminal.said(shellCodes.result), '{"exit_code":7}\n');
    const cat = await open(["sh", "-c", "cat; echo end >&2"], false);
    cat.type("half");
    cat.type("");
    await cat.client.until(() => cat.client.close !== undefined);
    const output = [shellCodes.stdout, shellCodes.stderr, shellCodes.result].map((code) => cat.said(code));
    assert.deepEqual([output, cat.client.close?.code], [["half", "end\n", '{"exit_code":0}\n'], 1000]);
  });

  it("is gone when the tenant's connection is cut, with a terminal and without", async (t) => {
    const open = await overTls(t);
    const commands = await Promise.all(
      [true, false].map((tty) => open(["sh", "-c", `echo up; sleep ${tty ? 7801 : 7802}; true`], tty)),
    );
    for (const { client, said } of commands) await client.until(() => said(shellCodes.stdout).startsWith("up"));
    assert.match(await processes(), /sleep 780/);
    for (const { client } of commands) client.socket.destroy();
    await eventually("the end", async () => !/sleep 780/.test(await processes()));
  });

  it("echoes a key over TLS in less than ten times what the API server alone takes", async (t) => {
    const open = await overTls(t);
    const { client, said, type } = await open(["cat"], true);
    const alone = await kube.exec({ namespace, name: "box" }, { command: ["cat"], tty: true, stdin: true });
    t.after(() => alone.close());
    const msOf = async (press: () => unknown, echo: () => Promise<unknown>) => {
      const startMs = performance.now();
      press();
      await echo();
      return performance.now() - startMs;
    };
    let keys = 0;
    const tenants = () => {
      keys += 1;
      return msOf(
        () => type("x"),
        () => client.until(() => said(shellCodes.stdout).length >= keys),
      );
    };
    const direct = () =>
      msOf(
        () => alone.stdin.write("x"),
        () => once(alone.stdout, "data"),
      );
    const ratio = medianRatio(await inTurn(100, tenants, direct), Number);
    t.diagnostic(`${ratio} times`);
    assert.ok(ratio < 10, `${ratio}`);
    client.socket.destroy();
  });

  it("is gone when we are", async () => {
    await exec(["sleep", "7901"]);
    await shell.close();
    const { stdout } = await kube.exec({ namespace, name: "box" }, { command: ["ps", "-o", "args"] });
    assert.doesNotMatch(await text(stdout), /sleep 7[79]/);
  });
});
