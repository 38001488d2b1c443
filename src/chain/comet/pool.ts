/**
 * Several nodes of one chain as one. A call goes to the node that did well last, then to the others; reads and broadcasts
 * may be repeated.
 */
import { largest, smallest } from "../../runtime/bigint.ts";
import { sleep } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { jitter } from "../../runtime/random.ts";
import type { QueryOptions } from "../chain.ts";
import type { RpcLimits } from "./rpc-call.ts";
import {
  isAnswer,
  isUsable,
  type NodeCondition,
  type NodeStatus,
  notYet,
  RpcNode,
  type RpcNodeState,
  type RpcParams,
  rejectionReason,
  unlessOfNode,
} from "./rpc-node.ts";
import type { RpcTransport } from "./transport.ts";

/** Interval and timeout of the status probe of every node: about a block. */
const rpcProbeMs = 5 * second;
/** A height that a node reported is trusted this long where the node must not have fallen behind. */
const rpcReadingMs = 2 * second;
/** A node that takes longer on average is used only where no other is quicker: a block takes about five calls in turn. */
const rpcSlowMs = second;

export type ReportedHead = Pick<NodeStatus, "height" | "timeNs">;

/** A report older than three rounds of probes says nothing about the present: the node hangs, or probes have stopped. */
const reportMs = 3 * rpcProbeMs;

interface PoolOptions extends RuntimeDeps {
  /** One for each node, under names that differ; the pool closes them. */
  readonly nodes: readonly RpcTransport[];
  /** Without one, the chain is that of the first node in the list that answers. */
  readonly chainId?: string;
}

export type NodeCallOptions = RpcLimits & Pick<QueryOptions, "atOrAbove" | "node">;

interface NodeAnswer<T> {
  readonly result: T;
  readonly node: string;
  /** The height that this node had reached by the time of the call, at least. */
  readonly nodeHeight: bigint;
}

export class Pool {
  readonly #nodes: readonly RpcNode[];
  readonly #deps: PoolOptions;
  readonly #logged = new Map<RpcNode, NodeCondition>();
  readonly #listeners: (() => void)[] = [];
  #chainId: string | undefined;
  #preferred: RpcNode;
  #lastServed: ReportedHead | undefined;
  switches = 0;

  constructor(options: PoolOptions) {
    this.#deps = options;
    this.#chainId = options.chainId;
    const nodes = options.nodes.map((transport) => new RpcNode(transport, () => this.#chainId, options));
    [this.#preferred] = nodes as [RpcNode, ...RpcNode[]];
    this.#nodes = nodes;
  }

  /** Probes every node and reads the chain's id; throws if no node is usable. */
  async open(signal?: AbortSignal): Promise<void> {
    await this.probe({ signal });
    await this.#callFirst("status", async () => undefined, { signal });
  }

  /** Known once the pool is open. */
  get chainId(): string {
    if (this.#chainId === undefined) throw this.#noEndpoint("which chain this is", [], undefined);
    return this.#chainId;
  }

  get preferred(): RpcTransport {
    return this.#preferred.transport;
  }

  get nodes(): readonly RpcNodeState[] {
    return this.#nodes.map((node) => node.stateNow());
  }

  /** `read` parses the result. Its error, or an error answer that is no answer to this method, sends the call to the next node. */
  call<T>(
    method: string,
    params: RpcParams,
    read: (result: unknown, node: string) => T,
    options: NodeCallOptions = {},
  ): Promise<NodeAnswer<T>> {
    const work = (node: RpcNode) => node.call(method, params, (result) => read(result, node.transport.name), options);
    return this.#callFirst(method, work, options);
  }

  async head(bounds: RpcLimits = {}): Promise<NodeStatus> {
    const { result } = await this.#callFirst("status", (node) => readUsable(node, bounds), bounds);
    return result;
  }

  /** The node in use shows no new block: another one is to be used, if there is one. */
  async standsStill(bounds?: RpcLimits): Promise<void> {
    const still = this.#preferred;
    await this.probe(bounds);
    const others = this.#nodes.filter((node) => node !== still && isUsable(node));
    const heightOf = ({ status }: RpcNode) => status?.height ?? 0n;
    const [next] = others.sort((a, b) => rank(a) - rank(b) || Number(heightOf(b) - heightOf(a)));
    if (next) this.#prefer(next);
  }

  /** Probes every node and returns those that answered. */
  async probe(bounds: RpcLimits = {}): Promise<readonly RpcNodeState[]> {
    const probed = this.#nodes.filter((node) => node.admit());
    const within = { timeoutMs: rpcProbeMs, ...bounds };
    const answers = await Promise.allSettled(
      probed.map(async (node) => {
        await node.read(within);
        await node.recheck(within);
      }),
    );
    bounds.signal?.throwIfAborted();
    for (const answer of answers) if (answer.status === "rejected") unlessOfNode(answer.reason);
    this.#chainId ??= this.#nodes.find(({ status }) => status)?.status?.chainId;
    const present = probed.filter((_, index) => answers[index]?.status === "fulfilled");
    this.#judgeLag(present.filter(({ status }) => status?.chainId === this.#chainId));
    for (const node of this.#nodes) this.#logCondition(node);
    return present.map((node) => node.stateNow());
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    while (!signal.aborted) {
      await sleep(clock, jitter(random, rpcProbeMs), signal)
        .then(() => this.probe({ signal }))
        .catch(unlessAborted(signal));
    }
  }

  onSwitch(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** This block was served: it counts in what is agreed on like the report of one more node. */
  served({ height, timeNs }: ReportedHead): void {
    this.#lastServed = { height, timeNs };
  }

  /** What most of the usable nodes report. It falls when a node that overstated is corrected. */
  get agreed(): ReportedHead | undefined {
    const sinceMs = this.#deps.clock.monotonicMs() - reportMs;
    const reports = this.#nodes.filter(isUsable).flatMap(({ status }) => status ?? []);
    return this.#agreedOn(reports.filter(({ atMs }) => atMs >= sinceMs));
  }

  close(): void {
    for (const { transport } of this.#nodes) transport.close();
  }

  #prefer(node: RpcNode): void {
    if (node === this.#preferred) return;
    this.#deps.log.info("switched RPC node", { from: this.preferred.name, to: node.transport.name });
    this.#preferred = node;
    this.switches += 1;
    for (const listener of this.#listeners) listener();
  }

  /** Nodes that may be called, best first. The breaker comes last: admitting consumes its one trial call. */
  *#candidates(method: string, only: string | undefined): IterableIterator<RpcNode> {
    const score = (node: RpcNode) =>
      (node.isFailing(method) ? 10 : 0) + 2 * rank(node) + Number(node !== this.#preferred);
    const inOrder = [...this.#nodes].sort((a, b) => score(a) - score(b) || (a.latencyMs ?? 0) - (b.latencyMs ?? 0));
    for (const node of inOrder) {
      if (only !== undefined && node.transport.name !== only) continue;
      if (["behind", "catching up", "other chain"].includes(node.condition)) continue;
      if (node.admit()) yield node;
    }
  }

  async #callFirst<T>(
    method: string,
    work: (node: RpcNode) => Promise<T>,
    options: NodeCallOptions,
  ): Promise<NodeAnswer<T>> {
    const failures: unknown[] = [];
    for (const node of this.#candidates(method, options.node)) {
      try {
        const nodeHeight = await this.#verify(node, options);
        const result = await work(node);
        // Where each of two fails at something else, neither is better: switching to and fro would not help.
        const isNoBetter = rank(node) === 1 && rank(this.#preferred) === 1;
        if (options.node === undefined && !isNoBetter) this.#prefer(node);
        return { result, node: node.transport.name, nodeHeight };
      } catch (thrown) {
        if (!(thrown instanceof ProviderError)) throw thrown;
        const rejection = rejectionReason(thrown);
        if (rejection !== undefined && isAnswer(method, rejection)) throw thrown;
        failures.push(thrown);
      }
    }
    throw this.#noEndpoint(method, failures, options.node);
  }

  /** No answer is taken from a node whose chain we do not know, nor from one that may be too far behind. */
  async #verify(node: RpcNode, { atOrAbove, ...bounds }: NodeCallOptions): Promise<bigint> {
    const { transport, status } = node;
    const isFresh = status !== undefined && this.#deps.clock.monotonicMs() - status.atMs <= rpcReadingMs;
    const knows = atOrAbove === undefined ? status !== undefined : isFresh && status.height >= atOrAbove;
    const { chainId, height } = knows && status ? status : await readUsable(node, bounds);
    this.#chainId ??= chainId;
    if (chainId !== this.#chainId) throw this.#ofOtherChain(node);
    if (atOrAbove !== undefined && height < atOrAbove) {
      throw notYet(transport.name, `it is at height ${height}, below the required height ${atOrAbove}`);
    }
    return height;
  }

  /** The one failure as it is, several of them together, or why none was called. */
  #noEndpoint(what: string, failures: readonly unknown[], only: string | undefined): ProviderError {
    const [first, ...more] = failures;
    if (first instanceof ProviderError && more.length === 0 && this.#nodes.length === 1) return first;
    const others = this.#nodes.filter(({ condition }) => condition === "other chain");
    if (others.length === this.#nodes.length && others[0]) return this.#ofOtherChain(others[0]);
    const idle = this.nodes
      .filter(({ name }) => only === undefined || name === only)
      .map(({ name, condition, error }) => `${name} is ${condition}${error ? ` (${error})` : ""}`);
    const reasons = failures.length > 0 ? failures.map(reasonOf) : idle;
    return new ProviderError("AKP_CHAIN_NO_ENDPOINT", { what, reasons: reasons.join("; "), failures });
  }

  #ofOtherChain({ transport, status }: RpcNode): ProviderError {
    const details = { node: transport.name, found: status?.chainId ?? "", wanted: this.#chainId ?? "" };
    return new ProviderError("AKP_CHAIN_WRONG_ID", details);
  }

  /** Only readings of the same moment can be compared. */
  #judgeLag(present: readonly RpcNode[]): void {
    const best = this.#agreedOn(present.flatMap(({ status }) => (status && !status.catchingUp ? status : [])));
    for (const node of present) node.lag = largest(0n, (best?.height ?? 0n) - (node.status?.height ?? 0n));
  }

  /** Height and time each by majority: one node that is wrong about either moves neither. */
  #agreedOn(reports: readonly ReportedHead[]): ReportedHead | undefined {
    if (reports.length === 0) return undefined;
    const highest = largest(...reports.map(({ height }) => height));
    const served = this.#lastServed;
    // Of a chain that was restored, less than what was served counts.
    const votes = served ? [...reports, { ...served, height: smallest(served.height, highest) }] : reports;
    return { height: median(votes.map(({ height }) => height)), timeNs: median(votes.map(({ timeNs }) => timeNs)) };
  }

  #logCondition(node: RpcNode): void {
    const { name, condition, error } = node.stateNow();
    if (this.#logged.get(node) === condition) return;
    this.#logged.set(node, condition);
    const fields = { node: name, condition, ...(error !== undefined && { error }) };
    if (condition === "good") this.#deps.log.info("RPC node can be used", fields);
    else this.#deps.log.warn("RPC node is avoided", fields);
  }
}

export const createPool = (options: PoolOptions) => new Pool(options);

/** One that just failed comes after one that is slow or of which some method fails, and that after those that did well. */
function rank(node: RpcNode): number {
  if (node.failures > 0) return 2;
  return node.isFailing() || (node.latencyMs ?? 0) > rpcSlowMs ? 1 : 0;
}

/** Of an even number the higher: of two nodes that differ, one that is behind is more likely than one that overstates. */
function median(values: readonly bigint[]): bigint {
  const descending = [...values].sort((a, b) => (a > b ? -1 : 1));
  return descending[Math.floor((values.length - 1) / 2)] ?? 0n;
}

/** What a node that is still loading older blocks says is old, however well it answers. */
async function readUsable(node: RpcNode, bounds: RpcLimits): Promise<NodeStatus> {
  const status = await node.read(bounds);
  if (!status.catchingUp) return status;
  const reason = "it is still loading older blocks";
  throw new ProviderError("AKP_CHAIN_UNREACHABLE", { node: node.transport.name, reason });
}

/** A failure after the abort is expected. */
export function unlessAborted(signal: AbortSignal): (thrown: unknown) => void {
  return (thrown) => {
    if (!signal.aborted) throw thrown;
  };
}
