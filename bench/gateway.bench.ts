/**
 * The gateway under load, with the box, the provider, a bare HTTPS server and the load each in a process of its own: `/status`
 * beside a bare server that returns the same bytes, with one lease and with a thousand; lease status by token and by
 * certificate; handshakes; memory over half a million requests; and what one tenant's load does to another.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packMessage } from "../src/chain/tx/messages.ts";
import { issueToken } from "../src/gateway/client/issue-token.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { ask } from "../test/gateway-client.ts";
import { createOwner, type Owner } from "../test/owner.ts";
import { makeCertificate } from "../test/test-certificate.ts";
import type { Asked as BareAsked, Told as BareTold } from "./gateway-bare.ts";
import type { Load, Asked as LoadAsked, Loaded, Told as LoadTold, Target } from "./gateway-load.ts";
import { launch, startMarket, startProvider, told } from "./leases-market.ts";
import { firstOfOther, otherSigner, tenantSigner } from "./leases-people.ts";
import { percentile } from "./percentile.ts";
import { type Row, report, round } from "./report.ts";

const bars = { statusRatio: 0.8, statusP99Ms: 20, leaseStatusPerS: 4_000, othersP99: 2, growthMb: 15 };
const [manyLeases, firstDseq] = [1_000, 1_000];
const [statusConnections, leaseConnections] = [64, 16];
/** Ours and the bare one in turn, so that a busy machine slows both alike. */
const [rounds, roundMs] = [8, 1_000];
const requestsForMemory = 500_000;
/** As on the network. */
const blockMs = 6_000;
const statusRequest = "GET /status HTTP/1.1\r\nHost: localhost:8443\r\n\r\n";

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-bench-"));
  owner.after(() => rmSync(folder, { recursive: true }));
  const market = await startMarket(owner);
  const provider = await startProvider(market.rpcUrl, market.kubeconfig, join(folder, "data"), "gateway");
  owner.after(provider.stop);
  const target = { port: provider.start.port };
  const bare = await startBare(owner);
  const [load, handshakes] = await startLoad(owner);
  // Another tenant has a machine of his own: what he waits for is us.
  const [loadOfOther] = await startLoad(owner);
  const lease = async (dseqs: readonly number[]) => {
    await market.lease(dseqs);
    await provider.submit(dseqs);
  };
  const [dseq, otherDseq] = [firstDseq, firstOfOther];
  await lease([dseq]);
  await lease([otherDseq]);
  const certificate = await publishCertificate(market.send);
  market.blocksEvery(blockMs);
  await sleep(realClock, 3_000);

  const rows: Row[] = [];
  const one = await compareStatus("1 lease", rows);
  const handshakesPerS = round(await handshakes({ target, atOnce: 8, ms: 3_000 }), 0);
  rows.push({ what: "handshakes a second", value: handshakesPerS });
  const byToken = requestOf(dseq, issueToken(tenantSigner, Date.now()));
  const leaseStatusJwtPerS = await leaseStatus("token", { target, request: byToken });
  const byCertificate = { target: { ...target, ...certificate }, request: requestOf(dseq) };
  const leaseStatusMtlsPerS = await leaseStatus("certificate", byCertificate);
  const othersP99 = await measureOther();
  const { flat, rssMb } = await measureMemory();
  market.blocksEvery(200);
  await lease(Array.from({ length: manyLeases - 1 }, (_, n) => firstDseq + 1 + n));
  market.blocksEvery(blockMs);
  await sleep(realClock, 10_000);
  const many = await compareStatus(`${manyLeases} leases`, rows);

  const [statusRatio, statusRatio1000, statusP99Ms] = [one.ratio, many.ratio, one.p99Ms];
  const title = `gateway: status ≥ ${bars.statusRatio} × a bare server and p99 ≤ ${bars.statusP99Ms} ms, lease status ≥ ${bars.leaseStatusPerS}/s, others' p99 ≤ ${bars.othersP99} ×`;
  report(title, rows, {
    ...{ bench: "gateway", statusRatio, statusRatio1000, statusP99Ms, leaseStatusJwtPerS, leaseStatusMtlsPerS },
    ...{ handshakesPerS, othersP99, flat, rssMb },
  });
  const misses = [
    statusRatio < bars.statusRatio && `status is ${statusRatio} of a bare server with 1 lease`,
    statusRatio1000 < bars.statusRatio && `status is ${statusRatio1000} of a bare server with ${manyLeases} leases`,
    statusP99Ms > bars.statusP99Ms && `status takes ${statusP99Ms} ms`,
    leaseStatusJwtPerS < bars.leaseStatusPerS && `${leaseStatusJwtPerS} lease statuses a second by token`,
    leaseStatusMtlsPerS < bars.leaseStatusPerS && `${leaseStatusMtlsPerS} lease statuses a second by certificate`,
    othersP99 > bars.othersP99 && `one tenant's load makes another wait ${othersP99} times as long`,
    !flat && "memory grows with requests",
  ].filter((miss) => miss !== false);
  if (misses.length > 0) throw new Error(misses.join("; "));

  async function compareStatus(what: string, rows: Row[]) {
    const { headers, body } = await ask(target, { path: "/status" });
    await bare.serve(Object.fromEntries(headers.filter(([name]) => name !== "Date")), body);
    const asked = { request: statusRequest, connections: statusConnections, ms: roundMs };
    const [ratios, ours, theirs]: [number[], Loaded[], Loaded[]] = [[], [], []];
    const [ourCpuUs, theirCpuUs]: [number[], number[]] = [[], []];
    for (let n = 0; n <= rounds; n++) {
      const before = await cpuMs();
      const [own, other] = [await load({ ...asked, target }), await load({ ...asked, target: bare.target })];
      const after = await cpuMs();
      // The first ones warm both up.
      if (n === 0) continue;
      ratios.push(own.perS / other.perS);
      ours.push(own);
      theirs.push(other);
      ourCpuUs.push(((after.ours - before.ours) * 1_000) / own.answers);
      theirCpuUs.push(((after.theirs - before.theirs) * 1_000) / other.answers);
    }
    const [ratio, p99Ms] = [round(percentile(ratios, 0.5)), round(p99Of(ours), 1)];
    rows.push(
      { what: `/status, ${what}, of ${body.length} bytes, a second`, value: round(medianPerS(ours), 0) },
      { what: "bare server, a second", value: round(medianPerS(theirs), 0) },
      { what: "ratio", value: ratio },
      { what: "CPU of a request, µs", value: round(percentile(ourCpuUs, 0.5), 1) },
      { what: "bare server, µs", value: round(percentile(theirCpuUs, 0.5), 1) },
      { what: `p99 at ${statusConnections} connections, ms`, value: p99Ms },
      { what: "bare server, p99 ms", value: round(p99Of(theirs), 1) },
    );
    return { ratio, p99Ms };
  }

  /** What each was at work so far; this does not depend on what else the machine does. */
  async function cpuMs() {
    return { ours: (await provider.healths()).cpuMs, theirs: await bare.cpuMs() };
  }

  async function leaseStatus(how: string, asked: Pick<Load, "target" | "request">): Promise<number> {
    const measured: Loaded[] = [];
    const before = await cpuMs();
    for (let n = 0; n < rounds; n++) {
      measured.push(await load({ ...asked, connections: leaseConnections, ms: roundMs }));
    }
    const perS = round(medianPerS(measured.slice(1)), 0);
    const cpuUs =
      (((await cpuMs()).ours - before.ours) * 1_000) / measured.reduce((sum, { answers }) => sum + answers, 0);
    rows.push(
      { what: `lease status by ${how}, a second`, value: perS },
      { what: "CPU of a request, µs", value: round(cpuUs, 1) },
      { what: `p99 at ${leaseConnections} connections, ms`, value: round(p99Of(measured.slice(1)), 1) },
    );
    return perS;
  }

  /**
   * How much longer another tenant waits for his answers while this one asks us as much as he can, beside asking a server
   * next door as much: on two processors, being busy alone makes everybody wait.
   */
  async function measureOther(): Promise<number> {
    const request = requestOf(otherDseq, issueToken(otherSigner, Date.now()));
    const other = { target, request, connections: 4, ms: roundMs, pauseMs: 5 };
    const [quiet, nextDoor, onUs]: [Loaded[], Loaded[], Loaded[]] = [[], [], []];
    const busy = { connections: leaseConnections, ms: roundMs + 200 };
    for (let n = 0; n < rounds; n++) {
      quiet.push(await loadOfOther(other));
      const elsewhere = load({ ...busy, target: bare.target, request: statusRequest });
      nextDoor.push(await loadOfOther(other));
      await elsewhere;
      const here = load({ ...busy, target, request: byToken });
      onUs.push(await loadOfOther(other));
      await here;
    }
    const [nextDoorMs, onUsMs] = [p99Of(nextDoor), p99Of(onUs)];
    rows.push(
      { what: "lease status of another tenant, p99 ms on a quiet machine", value: round(p99Of(quiet), 1) },
      { what: "with the load next door, p99 ms", value: round(nextDoorMs, 1) },
      { what: "with the load on us, p99 ms", value: round(onUsMs, 1) },
    );
    return round(onUsMs / nextDoorMs);
  }

  async function measureMemory() {
    const asked = { target, request: statusRequest, connections: statusConnections, ms: 5_000 };
    await load(asked);
    const beforeMb = await provider.memory();
    let requests = 0;
    while (requests < requestsForMemory) requests += (await load(asked)).answers;
    const rssMb = await provider.memory();
    const grownMb = round(rssMb - beforeMb, 1);
    rows.push(
      { what: `memory grown over ${requests} requests, MB`, value: grownMb },
      { what: "memory, MB", value: rssMb },
    );
    return { flat: grownMb <= bars.growthMb, rssMb };
  }
}

function requestOf(dseq: number, token?: string): string {
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  return `GET /lease/${dseq}/1/1/status HTTP/1.1\r\nHost: localhost:8443\r\n${authorization}\r\n`;
}

function medianPerS(loads: readonly Loaded[]): number {
  return percentile(
    loads.map(({ perS }) => perS),
    0.5,
  );
}

/** The median of the rounds: what the machine does besides falls into some of them. */
function p99Of(loads: readonly Loaded[]): number {
  return percentile(
    loads.map(({ latenciesMs }) => percentile([...latenciesMs], 0.99)),
    0.5,
  );
}

type Send = Awaited<ReturnType<typeof startMarket>>["send"];

/** By the public client's own code. */
async function publishCertificate(send: Send) {
  const { certificateManager } = await import("@akashnetwork/chain-sdk");
  const { cert, publicKey, privateKey } = await certificateManager.generatePEM(tenantSigner.address);
  const parts = { owner: tenantSigner.address, cert: Buffer.from(cert), pubkey: Buffer.from(publicKey) };
  await send(tenantSigner, packMessage("createCertificate", parts));
  return { cert, key: privateKey };
}

async function startBare(owner: Owner) {
  const child = launch("gateway-bare.ts");
  const ended = once(child, "exit");
  const askBare = (asked: BareAsked) => void child.send(asked);
  owner.after(async () => {
    askBare({ what: "stop" });
    await ended;
  });
  const { certPem: cert, keyPem: key } = makeCertificate({ name: "bare" });
  let target: Target = { port: 0 };
  return {
    get target() {
      return target;
    },
    async serve(headers: Readonly<Record<string, string>>, body: string): Promise<void> {
      const serving = told<BareTold, "serving">(child, "serving");
      askBare({ what: "serve", cert, key, headers, body: Buffer.from(body) });
      target = { port: (await serving).port };
    },
    async cpuMs(): Promise<number> {
      const answer = told<BareTold, "cpu">(child, "cpu");
      askBare({ what: "cpu" });
      return (await answer).cpuMs;
    },
  };
}

async function startLoad(owner: Owner) {
  const child = launch("gateway-load.ts");
  const ended = once(child, "exit");
  owner.after(async () => {
    child.send({ what: "stop" } satisfies LoadAsked);
    await ended;
  });
  let last = 0;
  const waiting = new Map<number, (told: LoadTold) => void>();
  child.on("message", (message: LoadTold) => waiting.get(message.id)?.(message));
  const answerTo = (asked: (id: number) => LoadAsked) =>
    new Promise<LoadTold>((resolve, reject) => {
      const id = ++last;
      waiting.set(id, resolve);
      void ended.then(() => reject(new Error("the load ended")));
      child.send(asked(id));
    });
  const load = async (asked: Load): Promise<Loaded> => {
    const loaded = (await answerTo((id) => ({ what: "load", id, ...asked }))) as Extract<LoadTold, { what: "loaded" }>;
    if (loaded.failures > 0) throw new Error(`${loaded.failures} of ${loaded.answers} answers: ${loaded.failure}`);
    return loaded;
  };
  type Handshakes = Omit<Extract<LoadAsked, { what: "handshakes" }>, "what" | "id">;
  const handshakes = async (asked: Handshakes): Promise<number> => {
    const told = await answerTo((id) => ({ what: "handshakes", id, ...asked }));
    return (told as Extract<LoadTold, { what: "handshaken" }>).perS;
  };
  return [load, handshakes] as const;
}
