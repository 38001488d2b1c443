/**
 * The gateway under load, with the box, the provider, a bare HTTPS server and the load each in a process of its own: `/status`
 * beside a bare server that returns the same bytes, with one lease and with a thousand; lease status by token and by
 * certificate; handshakes; memory over half a million requests; and what one tenant's load does to another.
 */
import { once } from "node:events";
import { packMessage } from "../src/chain/tx/messages.ts";
import { issueToken } from "../src/gateway/client/provider-client.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { type GatewayRequest, requestBytes, sendRequest } from "../test/support/gateway-client.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import { makeCertificate } from "../test/support/test-certificate.ts";
import type { Command as BareCommand, Report as BareReport } from "./gateway-bare.ts";
import type { Load, Command as LoadCommand, Loaded, Report as LoadReport, Target } from "./gateway-load.ts";
import { startMarket, startProvider } from "./leases-market.ts";
import { firstOfOther, otherSigner, tenantSigner } from "./leases-people.ts";
import { nextMessage, startChild } from "./processes.ts";
import { inTurn, median, medianRatio, percentile, type Row, report, round, size } from "./report.ts";

const bars = {
  statusRatio: ["≥", 0.8],
  statusRatio1000: ["≥", 0.8],
  statusP99Ratio: ["≤", 2],
  leaseStatusJwtRatio: ["≥", 0.3],
  leaseStatusMtlsRatio: ["≥", 0.3],
  othersP99: ["≤", 2],
  flat: ["=", true],
} as const;
/** More, and memory is not flat. */
const mostGrowthMb = 15;
const [manyLeases, firstDseq] = [size(1_000, 20), 1_000];
const [statusConnections, leaseConnections] = size([64, 16], [8, 4]);
const [rounds, roundMs] = size([8, 1_000], [1, 100]);
const [requestsForMemory, memoryMs] = size([500_000, 5_000], [1_000, 100]);
const handshakesMs = size(3_000, 200);
/** As on the network. */
const blockMs = size(6_000, 200);
const statusRequest = { path: "/status" };

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const market = await startMarket(owner);
  const provider = await startProvider(market.rpcUrl, market.kubeconfig, temporaryFolder(owner), "gateway");
  owner.after(provider.stop);
  const target = { port: provider.start.port };
  const bare = await startBare(owner);
  const [load, handshakes] = await startLoad(owner);
  // The other tenant has its own load process, so that its latency is the gateway's.
  const [loadOfOther] = await startLoad(owner);
  const start = async (dseqs: readonly number[]) => {
    await provider.submit(dseqs);
    await provider.untilHealthy(dseqs);
  };
  const [dseq, otherDseq] = [firstDseq, firstOfOther];
  await Promise.all([market.lease([dseq]), market.lease([otherDseq])]);
  await start([dseq, otherDseq]);
  const certificate = await publishCertificate(market.send);
  market.blocksEvery(blockMs);

  const rows: Row[] = [];
  const one = await compare("/status, 1 lease", statusRequest, statusConnections);
  const handshakesPerS = round(await handshakes({ target, atOnce: 8, ms: handshakesMs }), 0);
  rows.push({ what: "handshakes a second", value: handshakesPerS });
  const byToken = requestOf(dseq, issueToken(tenantSigner, Date.now()));
  const jwt = await compare("lease status by token", byToken, leaseConnections);
  const mtls = await compare("lease status by certificate", requestOf(dseq), leaseConnections, certificate);
  const othersP99 = await measureOther();
  const { flat, rssMb } = await measureMemory();
  market.blocksEvery(200);
  const others = Array.from({ length: manyLeases - 1 }, (_, n) => firstDseq + 1 + n);
  await market.lease(others);
  await start(others);
  market.blocksEvery(blockMs);
  const many = await compare(`/status, ${manyLeases} leases`, statusRequest, statusConnections);

  const line = {
    ...{ bench: "gateway", statusRatio: one.ratio, statusRatio1000: many.ratio },
    ...{ statusP99Ms: one.p99Ms, statusP99Ratio: one.p99Ratio },
    ...{ leaseStatusJwtPerS: jwt.perS, leaseStatusJwtRatio: jwt.ratio },
    ...{ leaseStatusMtlsPerS: mtls.perS, leaseStatusMtlsRatio: mtls.ratio },
    ...{ handshakesPerS, othersP99, flat, rssMb },
  };
  report("gateway beside a bare server that returns the same bytes", rows, line, bars);

  async function compare(what: string, request: GatewayRequest, connections: number, certificate?: Certificate) {
    const { headers, body } = await sendRequest({ ...target, certificate }, request);
    await bare.serve(Object.fromEntries(headers.filter(([name]) => name !== "Date")), body);
    const measure = async ({ port }: Target, cpuMs: () => Promise<number>) => {
      const beforeMs = await cpuMs();
      const loaded = await load({
        target: { port, ...certificate },
        request: textOf(request),
        connections,
        ms: roundMs,
      });
      const cpuUs = (((await cpuMs()) - beforeMs) * 1_000) / loaded.answers;
      return { perS: loaded.perS, p99Ms: percentile([...loaded.latenciesMs], 0.99), cpuUs };
    };
    const pairs = await inTurn(
      rounds,
      () => measure(target, async () => (await provider.healths()).cpuMs),
      () => measure(bare.target, bare.cpuMs),
    );
    const [ratio, p99Ratio] = [medianRatio(pairs, ({ perS }) => perS), medianRatio(pairs, ({ p99Ms }) => p99Ms)];
    const middle = (side: "ours" | "baseline", field: "perS" | "p99Ms" | "cpuUs", digits: number) => {
      return round(median(pairs.map((pair) => pair[side][field])), digits);
    };
    const rowOf = (side: "ours" | "baseline") => {
      const figures = { "a second": middle(side, "perS", 0), "p99 ms": middle(side, "p99Ms", 1) };
      return { ...figures, "CPU of a request, µs": middle(side, "cpuUs", 1) };
    };
    rows.push({ what: `${what}, ${body.length} bytes, ${connections} connections`, ...rowOf("ours") });
    rows.push({ what: "bare server", ...rowOf("baseline") }, { what: "ratio", "a second": ratio, "p99 ms": p99Ratio });
    return { ratio, p99Ratio, perS: middle("ours", "perS", 0), p99Ms: middle("ours", "p99Ms", 1) };
  }

  /**
   * Latency of another tenant while this one loads the gateway, against the latency while it loads a bare server on the same
   * machine: on two processors, load alone slows every process.
   */
  async function measureOther(): Promise<number> {
    const request = textOf(requestOf(otherDseq, issueToken(otherSigner, Date.now())));
    const other = { target, request, connections: 4, ms: roundMs, pauseMs: 5 };
    const [quiet, nextDoor, onUs]: [Loaded[], Loaded[], Loaded[]] = [[], [], []];
    const busy = { connections: leaseConnections, ms: roundMs + 200 };
    for (let n = 0; n < rounds; n++) {
      quiet.push(await loadOfOther(other));
      const elsewhere = load({ ...busy, target: bare.target, request: textOf(byToken) });
      nextDoor.push(await loadOfOther(other));
      await elsewhere;
      const here = load({ ...busy, target, request: textOf(byToken) });
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
    const requested = { target, request: textOf(statusRequest), connections: statusConnections, ms: memoryMs };
    await load(requested);
    const beforeMb = await provider.memory();
    let requests = 0;
    while (requests < requestsForMemory) requests += (await load(requested)).answers;
    const rssMb = await provider.memory();
    const grownMb = round(rssMb - beforeMb, 1);
    rows.push(
      { what: `memory grown over ${requests} requests, MB`, value: grownMb },
      { what: "memory, MB", value: rssMb },
    );
    return { flat: grownMb <= mostGrowthMb, rssMb };
  }
}

function requestOf(dseq: number, token?: string): GatewayRequest {
  return { path: `/lease/${dseq}/1/1/status`, authorization: token && `Bearer ${token}` };
}

function textOf(request: GatewayRequest): string {
  return requestBytes(request).toString("latin1");
}

/** The median of the rounds: what the machine does besides falls into some of them. */
function p99Of(loads: readonly Loaded[]): number {
  return median(loads.map(({ latenciesMs }) => percentile([...latenciesMs], 0.99)));
}

type Send = Awaited<ReturnType<typeof startMarket>>["send"];
type Certificate = Awaited<ReturnType<typeof publishCertificate>>;

/** By the public client's own code. */
async function publishCertificate(send: Send) {
  const { certificateManager } = await import("@akashnetwork/chain-sdk");
  const { cert, publicKey, privateKey } = await certificateManager.generatePEM(tenantSigner.address);
  const parts = { owner: tenantSigner.address, cert: Buffer.from(cert), pubkey: Buffer.from(publicKey) };
  await send(tenantSigner, packMessage("createCertificate", parts));
  return { cert, key: privateKey };
}

async function startBare(owner: Owner) {
  const child = startChild(owner, "gateway-bare.ts");
  const commandBare = (command: BareCommand) => void child.send(command);
  const { certPem: cert, keyPem: key } = makeCertificate({ name: "bare" });
  let target: Target = { port: 0 };
  return {
    get target() {
      return target;
    },
    async serve(headers: Readonly<Record<string, string>>, body: string): Promise<void> {
      const serving = nextMessage<BareReport, "serving">(child, "serving");
      commandBare({ what: "serve", cert, key, headers, body: Buffer.from(body) });
      target = { port: (await serving).port };
    },
    async cpuMs(): Promise<number> {
      const answer = nextMessage<BareReport, "cpu">(child, "cpu");
      commandBare({ what: "cpu" });
      return (await answer).cpuMs;
    },
  };
}

async function startLoad(owner: Owner) {
  const child = startChild(owner, "gateway-load.ts");
  const ended = once(child, "exit");
  let last = 0;
  const waiting = new Map<number, (report: LoadReport) => void>();
  child.on("message", (message: LoadReport) => waiting.get(message.id)?.(message));
  const answerTo = (commandWith: (id: number) => LoadCommand) =>
    new Promise<LoadReport>((resolve, reject) => {
      const id = ++last;
      waiting.set(id, resolve);
      void ended.then(() => reject(new Error("the load ended")));
      child.send(commandWith(id));
    });
  const load = async (options: Load): Promise<Loaded> => {
    const loaded = (await answerTo((id) => ({ what: "load", id, ...options }))) as Extract<
      LoadReport,
      { what: "loaded" }
    >;
    if (loaded.failures > 0) throw new Error(`${loaded.failures} of ${loaded.answers} answers: ${loaded.failure}`);
    return loaded;
  };
  type Handshakes = Omit<Extract<LoadCommand, { what: "handshakes" }>, "what" | "id">;
  const handshakes = async (options: Handshakes): Promise<number> => {
    const handshaken = await answerTo((id) => ({ what: "handshakes", id, ...options }));
    return (handshaken as Extract<LoadReport, { what: "handshaken" }>).perS;
  };
  return [load, handshakes] as const;
}
