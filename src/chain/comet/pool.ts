/**
 * Several nodes of one chain as if they were one that never fails. A call goes to the node that did well last, and on
 * to the others when that one fails: reads may be repeated, and a transaction has one hash however often it is sent.
 */
import { largest, smallest } from "../../runtime/bigint.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import type { CallLimits } from "./rpc-call.ts";
import {
  createRpcNode,
  isAnswer,
  isUsable,
  type NodeCondition,
  type NodeStatus,
  notYet,
  type Params,
  type RpcNode,
  type RpcNodeState,
  refusalReason,
  unlessOfNode,
} from "./rpc-node.ts";
import type { RpcTransport } from "./transport.ts";

/** How often every node is asked how it is, and how long it may take to say: about a block. */
const rpcProbeMs = 5 * second;
/** A height that a node told us is believed this long where it matters that the node has not fallen back. */
const rpcReadingMs = 2 * second;
/** A node that takes longer on average is used only where no other is quicker: a block asks about five times in turn. */
const rpcSlowMs = second;

/** The newest block, as far as it is known. */
export type ReportedHead = Pick<NodeStatus, "height" | "timeNs">;

/** A report older than three rounds of probes says nothing about the present: the node hangs, or probes have stopped. */
const reportMs = 3 * rpcProbeMs;

interface PoolOptions {
  /** One for each node, under names that differ; the pool closes them. */
  readonly nodes: readonly RpcTransport[];
  /** Without one, the chain is that of the first node in the list that answers. */
  readonly chainId?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface NodeCallOptions extends CallLimits {
  /** The answering node must have told just now that it is at this height or above. For what must not be stale. */
  readonly atOrAbove?: bigint | undefined;
  /** Only this node, for what must come from one. */
  readonly node?: string | undefined;
}

interface NodeAnswer<T> {
  readonly result: T;
  /** Name of the node that gave it. */
  readonly node: string;
  /** The height that this node had reached when it was asked, at least. */
  readonly nodeHeight: bigint;
}

export interface Pool {
  /** Asks every node how it is and learns the chain's id; throws when none can be used. */
  open(signal?: AbortSignal): Promise<void>;
  /** Known once the pool is open. */
  readonly chainId: string;
  /**
   * What `read` makes of the result; when it throws, that is a failure of the node, and so is an error instead of a result,
   * except where errors are answers. The others are asked then.
   */
  call<T>(
    method: string,
    params: Params,
    read: (result: unknown, node: string) => T,
    options?: NodeCallOptions,
  ): Promise<NodeAnswer<T>>;
  /** The head as the node in use sees it. */
  head(bounds?: CallLimits): Promise<NodeStatus>;
  /** The node in use shows no new block: another one is to be used, if there is one. */
  standsStill(bounds?: CallLimits): Promise<void>;
  /** Asks every node how it is; gives those that said so. */
  probe(bounds?: CallLimits): Promise<readonly RpcNodeState[]>;
  /** Keeps asking until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** The node in use. */
  readonly preferred: RpcTransport;
  /** Called when another node has taken over. */
  onSwitch(listener: () => void): void;
  readonly nodes: readonly RpcNodeState[];
  /** This block was served: it counts in what is agreed on like the report of one more node. */
  served(block: ReportedHead): void;
  /** What most of the usable nodes report. It falls when a node that overstated is corrected. */
  readonly agreed: ReportedHead | undefined;
  /** How often another node took over. */
  readonly switches: number;
  close(): void;
}

export function createPool({ nodes: transports, chainId: wantedId, clock, random, log }: PoolOptions): Pool {
  let chainId = wantedId;
  const nodes = transports.map((transport) => createRpcNode(transport, () => chainId, { clock, random }));
  const told = new Map<RpcNode, NodeCondition>();
  const listeners: (() => void)[] = [];
  let [preferred] = nodes as [RpcNode, ...RpcNode[]];
  let switches = 0;
  let lastServed: ReportedHead | undefined;

  function prefer(node: RpcNode): void {
    if (node === preferred) return;
    log.info("switched RPC node", { from: preferred.transport.name, to: node.transport.name });
    preferred = node;
    switches += 1;
    for (const listener of listeners) listener();
  }

  /** Those that may be asked, best first. The breaker is asked last: it lets one call through. */
  function* candidates(method: string, only: string | undefined): IterableIterator<RpcNode> {
    const place = (node: RpcNode) => (node.isFailing(method) ? 10 : 0) + 2 * rank(node) + Number(node !== preferred);
    const inOrder = [...nodes].sort((a, b) => place(a) - place(b) || (a.latencyMs ?? 0) - (b.latencyMs ?? 0));
    for (const node of inOrder) {
      if (only !== undefined && node.transport.name !== only) continue;
      if (["behind", "catching up", "other chain"].includes(node.condition)) continue;
      if (node.admit()) yield node;
    }
  }

  /** One that just failed comes after one that is slow or of which some method fails, and that after those that did well. */
  function rank(node: RpcNode): number {
    if (node.failures > 0) return 2;
    return node.isFailing() || (node.latencyMs ?? 0) > rpcSlowMs ? 1 : 0;
  }

  async function ask<T>(
    method: string,
    work: (node: RpcNode) => Promise<T>,
    options: NodeCallOptions,
  ): Promise<NodeAnswer<T>> {
    const failures: unknown[] = [];
    for (const node of candidates(method, options.node)) {
      try {
        const nodeHeight = await verify(node, options);
        const result = await work(node);
        // Where each of two fails at something else, neither is better: to and fro would help nobody.
        const isNoBetter = rank(node) === 1 && rank(preferred) === 1;
        if (options.node === undefined && !isNoBetter) prefer(node);
        return { result, node: node.transport.name, nodeHeight };
      } catch (thrown) {
        if (!(thrown instanceof ProviderError)) throw thrown;
        const refusal = refusalReason(thrown);
        if (refusal !== undefined && isAnswer(method, refusal)) throw thrown;
        failures.push(thrown);
      }
    }
    throw nobody(method, failures, options.node);
  }

  /** No answer is taken from a node whose chain we do not know, nor from one that may be too far behind. */
  async function verify(node: RpcNode, { atOrAbove, ...bounds }: NodeCallOptions): Promise<bigint> {
    const { transport, status } = node;
    const isFresh = status !== undefined && clock.monotonicMs() - status.atMs <= rpcReadingMs;
    const knows = atOrAbove === undefined ? status !== undefined : isFresh && status.height >= atOrAbove;
    const { chainId: found, height } = knows && status ? status : await readUsable(node, bounds);
    chainId ??= found;
    if (found !== chainId) throw ofOtherChain(node);
    if (atOrAbove !== undefined && height < atOrAbove) {
      throw notYet(transport.name, `it is at height ${height}, and ${atOrAbove} is asked for`);
    }
    return height;
  }

  /** The one failure as it is, several of them together, or why nobody was asked at all. */
  function nobody(what: string, failures: readonly unknown[], only: string | undefined): ProviderError {
    const [first, ...more] = failures;
    if (first instanceof ProviderError && more.length === 0 && nodes.length === 1) return first;
    const others = nodes.filter(({ condition }) => condition === "other chain");
    if (others.length === nodes.length && others[0]) return ofOtherChain(others[0]);
    const idle = nodes
      .map(({ state }) => state)
      .filter(({ name }) => only === undefined || name === only)
      .map(({ name, condition, trouble }) => `${name} is ${condition}${trouble ? ` (${trouble})` : ""}`);
    const reasons = failures.length > 0 ? failures.map(reasonOf) : idle;
    return new ProviderError("AKP_CHAIN_NO_ENDPOINT", { what, reasons: reasons.join("; "), failures });
  }

  function ofOtherChain({ transport, status }: RpcNode): ProviderError {
    const details = { node: transport.name, found: status?.chainId ?? "", wanted: chainId ?? "" };
    return new ProviderError("AKP_CHAIN_WRONG_ID", details);
  }

  async function probe(bounds: CallLimits = {}): Promise<readonly RpcNodeState[]> {
    const asked = nodes.filter((node) => node.admit());
    const within = { timeoutMs: rpcProbeMs, ...bounds };
    const answers = await Promise.allSettled(
      asked.map(async (node) => {
        await node.read(within);
        await node.recheck(within);
      }),
    );
    bounds.signal?.throwIfAborted();
    for (const answer of answers) if (answer.status === "rejected") unlessOfNode(answer.reason);
    if (chainId === undefined) chainId = nodes.find(({ status }) => status)?.status?.chainId;
    const present = asked.filter((_, index) => answers[index]?.status === "fulfilled");
    judgeLag(present.filter(({ status }) => status?.chainId === chainId));
    for (const node of nodes) tell(node);
    return present.map(({ state }) => state);
  }

  /** Only readings of the same moment can be compared. */
  function judgeLag(present: readonly RpcNode[]): void {
    const best = agreedOn(present.flatMap(({ status }) => (status && !status.catchingUp ? status : [])));
    for (const node of present) node.lag = largest(0n, (best?.height ?? 0n) - (node.status?.height ?? 0n));
  }

  /** Height and time each by majority: one node that is wrong about either moves neither. */
  function agreedOn(reports: readonly ReportedHead[]): ReportedHead | undefined {
    if (reports.length === 0) return undefined;
    const highest = largest(...reports.map(({ height }) => height));
    // Of a chain that was restored, less than what was served counts.
    const own = lastServed && { ...lastServed, height: smallest(lastServed.height, highest) };
    const votes = own ? [...reports, own] : reports;
    return { height: median(votes.map(({ height }) => height)), timeNs: median(votes.map(({ timeNs }) => timeNs)) };
  }

  function tell(node: RpcNode): void {
    const { name, condition, trouble } = node.state;
    if (told.get(node) === condition) return;
    told.set(node, condition);
    const fields = { node: name, condition, ...(trouble !== undefined && { trouble }) };
    if (condition === "good") log.info("RPC node can be used", fields);
    else log.warn("RPC node is avoided", fields);
  }

  return {
    async open(signal) {
      await probe({ signal });
      await ask("status", async () => undefined, { signal });
    },
    get chainId() {
      if (chainId === undefined) throw nobody("which chain this is", [], undefined);
      return chainId;
    },
    call(method, params, read, options = {}) {
      const work = (node: RpcNode) => node.call(method, params, (result) => read(result, node.transport.name), options);
      return ask(method, work, options);
    },
    async head(bounds = {}) {
      const { result } = await ask("status", (node) => readUsable(node, bounds), bounds);
      return result;
    },
    async standsStill(bounds) {
      const still = preferred;
      await probe(bounds);
      const others = nodes.filter((node) => node !== still && isUsable(node));
      const heightOf = ({ status }: RpcNode) => status?.height ?? 0n;
      const [next] = others.sort((a, b) => rank(a) - rank(b) || Number(heightOf(b) - heightOf(a)));
      if (next) prefer(next);
    },
    probe,
    async run(signal) {
      while (!signal.aborted) {
        await sleep(clock, jitter(random, rpcProbeMs), signal).catch(unlessAborted(signal));
        if (!signal.aborted) await probe({ signal }).then(() => undefined, unlessAborted(signal));
      }
    },
    get preferred() {
      return preferred.transport;
    },
    onSwitch: (listener) => void listeners.push(listener),
    get nodes() {
      return nodes.map(({ state }) => state);
    },
    served({ height, timeNs }) {
      lastServed = { height, timeNs };
    },
    get agreed() {
      const sinceMs = clock.monotonicMs() - reportMs;
      const reports = nodes.filter(isUsable).flatMap(({ status }) => status ?? []);
      return agreedOn(reports.filter(({ atMs }) => atMs >= sinceMs));
    },
    get switches() {
      return switches;
    },
    close() {
      for (const { transport } of nodes) transport.close();
    },
  };
}

/** Of an even number the higher: of two nodes that differ, one that is behind is more likely than one that overstates. */
function median(values: readonly bigint[]): bigint {
  const descending = [...values].sort((a, b) => (a > b ? -1 : 1));
  return descending[Math.floor((values.length - 1) / 2)] ?? 0n;
}

/** What a node that is still loading older blocks says is old, however well it answers. */
async function readUsable(node: RpcNode, bounds: CallLimits): Promise<NodeStatus> {
  const status = await node.read(bounds);
  if (!status.catchingUp) return status;
  const reason = "it is still loading older blocks";
  throw new ProviderError("AKP_CHAIN_UNREACHABLE", { node: node.transport.name, reason });
}

/** The end that was asked for is no failure. */
export function unlessAborted(signal: AbortSignal): (thrown: unknown) => void {
  return (thrown) => {
    if (!signal.aborted) throw thrown;
  };
}
