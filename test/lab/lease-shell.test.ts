/** Commands in real containers: how they begin, and that they end when their tenant leaves. */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { programImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import type { LeasePod } from "../../src/cluster/reservations/lease-pods.ts";
import { createLeaseShell } from "../../src/cluster/tenant-pods/lease-shell.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { addressOf } from "../../src/market/address.ts";
import { bidOn } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../eventually.ts";
import { kubectl, labIsMissing } from "./cluster.ts";
import { openKube } from "./open-kube.ts";
import { runPod, runShell } from "./pods.ts";

const somebody = addressOf(realRandom.bytes(20));
const lease = bidOn({ owner: somebody, dseq: 7n, gseq: 1, oseq: 1 }, somebody);
const namespace = leaseNamespace(lease);
const service = "main";

describe("a command of a tenant", { skip: labIsMissing }, async () => {
  const kube = openKube({ after }, places.kubeconfig);
  const podsOf = ["bare", "box"].map((name) => ({ name, facts: { service, state: "ready" } }) as LeasePod);
  const deps = { kube, clock: realClock, random: realRandom, log: silentLog };
  const shell = createLeaseShell({ ...deps, pods: { in: () => podsOf } });
  if (!labIsMissing) {
    await kube.apply(kinds.namespace, { metadata: { name: namespace } });
    after(() => kubectl("delete", "namespace", namespace));
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

  it("that cannot be started is told so", async () => {
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
    const staying = await exec(["sleep", "7799"]);
    const left = /sleep 77[0-8]\d/;
    assert.match(await processes(), left);
    leaving.abort(new Error("the tenant has left"));
    await eventually("the end of all of them", async () => !left.test(await processes()), 20_000);
    assert.match(await processes(), /sleep 7799/);
    staying.close();
    await shell.close();
    assert.doesNotMatch(await processes(), /sleep 7799/);
  });
});
