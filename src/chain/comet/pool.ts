/**
 * Several nodes of one chain as if they were one that never fails. A call goes to the node that did well last, and on
 * to the others when that one fails: reads may be repeated, and a transaction has one hash however often it is sent.
 */
import { largest } from "../../runtime/bigint.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import {
  type Condition,
  createMember,
  isAnsweredByErrors,
  isUsable,
  type Member,
  type MemberState,
  notYet,
  type Params,
  type Reading,
  unlessOfNode,
} from "./member.ts";
import type { CallLimits } from "./rpc-call.ts";
import type { RpcTransport } from "./transport.ts";

export interface PoolOptions {
  /** One for each node, under names that differ; the pool closes them. */
  readonly nodes: readonly RpcTransport[];
  /** Without one, the chain is that of the first node in the list that answers. */
  readonly chainId?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface CallOptions extends CallLimits {
  /** The answering node must have told just now that it is at this height or above. For what must not be stale. */
  readonly atOrAbove?: bigint | undefined;
  /** Only this node, for what must come from one. */
  readonly endpoint?: string | undefined;
}

export interface Answer<T> {
  readonly result: T;
  /** Name of the node that gave it. */
  readonly endpoint: string;
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
    options?: CallOptions,
  ): Promise<Answer<T>>;
  /** The head as the node in use sees it. */
  head(bounds?: CallLimits): Promise<Reading>;
  /** The node in use shows no new block: another one is to be used, if there is one. */
  standsStill(bounds?: CallLimits): Promise<void>;
  /** Asks every node how it is; gives those that said so. */
  probe(bounds?: CallLimits): Promise<readonly MemberState[]>;
  /** Keeps asking until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** The node in use. */
  readonly preferred: RpcTransport;
  /** Called when another node has taken over. */
  onSwitch(listener: () => void): void;
  readonly members: readonly MemberState[];
  /** The highest that a node in use has told, whoever asked it. */
  readonly newest: Reading | undefined;
  /** How often another node took over. */
  readonly switches: number;
  close(): void;
}

export function createPool({ nodes, chainId: wantedId, clock, random, log }: PoolOptions): Pool {
  let chainId = wantedId;
  const members = nodes.map((transport) => createMember(transport, () => chainId, { clock, random }));
  const told = new Map<Member, Condition>();
  const listeners: (() => void)[] = [];
  let [preferred] = members as [Member, ...Member[]];
  let switches = 0;

  function prefer(member: Member): void {
    if (member === preferred) return;
    log.info("switched RPC node", { from: preferred.transport.name, to: member.transport.name });
    preferred = member;
    switches += 1;
    for (const listener of listeners) listener();
  }

  /** Those that may be asked, best first. The breaker is asked last: it lets one call through. */
  function* candidates(method: string, only: string | undefined): IterableIterator<Member> {
    const place = (member: Member) =>
      (member.isFailing(method) ? 10 : 0) + 2 * rank(member) + Number(member !== preferred);
    const inOrder = [...members].sort((a, b) => place(a) - place(b) || (a.latencyMs ?? 0) - (b.latencyMs ?? 0));
    for (const member of inOrder) {
      if (only !== undefined && member.transport.name !== only) continue;
      if (["behind", "catching up", "other chain"].includes(member.condition)) continue;
      if (member.admit()) yield member;
    }
  }

  /** One that just failed comes after one that is slow or of which some method fails, and that after those that did well. */
  function rank(member: Member): number {
    if (member.failures > 0) return 2;
    return member.isFailing() || (member.latencyMs ?? 0) > limits.rpcSlowMs ? 1 : 0;
  }

  async function ask<T>(
    method: string,
    work: (member: Member) => Promise<T>,
    options: CallOptions,
  ): Promise<Answer<T>> {
    const failures: unknown[] = [];
    for (const member of candidates(method, options.endpoint)) {
      try {
        const nodeHeight = await verify(member, options);
        const result = await work(member);
        // Where each of two fails at something else, neither is better: to and fro would help nobody.
        const isNoBetter = rank(member) === 1 && rank(preferred) === 1;
        if (options.endpoint === undefined && !isNoBetter) prefer(member);
        return { result, endpoint: member.transport.name, nodeHeight };
      } catch (thrown) {
        if (!(thrown instanceof ProviderError)) throw thrown;
        if (ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED") && isAnsweredByErrors(method)) throw thrown;
        failures.push(thrown);
      }
    }
    throw nobody(method, failures, options.endpoint);
  }

  /** No answer is taken from a node whose chain we do not know, nor from one that may be too far behind. */
  async function verify(member: Member, { atOrAbove, ...bounds }: CallOptions): Promise<bigint> {
    const { transport, reading } = member;
    const isFresh = reading !== undefined && clock.monotonicMs() - reading.atMs <= limits.rpcReadingMs;
    const knows = atOrAbove === undefined ? reading !== undefined : isFresh && reading.height >= atOrAbove;
    const { chainId: found, height } = knows && reading ? reading : await readUsable(member, bounds);
    chainId ??= found;
    if (found !== chainId) throw ofOtherChain(member);
    if (atOrAbove !== undefined && height < atOrAbove) {
      throw notYet(transport.name, `it is at height ${height}, and ${atOrAbove} is asked for`);
    }
    return height;
  }

  /** The one failure as it is, several of them together, or why nobody was asked at all. */
  function nobody(what: string, failures: readonly unknown[], only: string | undefined): ProviderError {
    const [first, ...others] = failures;
    if (first instanceof ProviderError && others.length === 0 && members.length === 1) return first;
    const strangers = members.filter(({ condition }) => condition === "other chain");
    if (strangers.length === members.length && strangers[0]) return ofOtherChain(strangers[0]);
    const idle = members
      .map(({ state }) => state)
      .filter(({ name }) => only === undefined || name === only)
      .map(({ name, condition, trouble }) => `${name} is ${condition}${trouble ? ` (${trouble})` : ""}`);
    const reasons = failures.length > 0 ? failures.map(reasonOf) : idle;
    return new ProviderError("AKP_CHAIN_NO_ENDPOINT", { what, reasons: reasons.join("; "), failures });
  }

  function ofOtherChain({ transport, reading }: Member): ProviderError {
    const details = { endpoint: transport.name, found: reading?.chainId ?? "", wanted: chainId ?? "" };
    return new ProviderError("AKP_CHAIN_WRONG_ID", details);
  }

  async function probe(bounds: CallLimits = {}): Promise<readonly MemberState[]> {
    const asked = members.filter((member) => member.admit());
    const within = { timeoutMs: limits.rpcProbeMs, ...bounds };
    const answers = await Promise.allSettled(
      asked.map(async (member) => {
        await member.read(within);
        await member.recheck(within);
      }),
    );
    bounds.signal?.throwIfAborted();
    for (const answer of answers) if (answer.status === "rejected") unlessOfNode(answer.reason);
    if (chainId === undefined) chainId = members.find(({ reading }) => reading)?.reading?.chainId;
    const present = asked.filter((_, index) => answers[index]?.status === "fulfilled");
    judgeLag(present.filter(({ reading }) => reading?.chainId === chainId));
    for (const member of members) tell(member);
    return present.map(({ state }) => state);
  }

  /** Only readings of the same moment can be compared. */
  function judgeLag(present: readonly Member[]): void {
    const heights = present.map(({ reading }) => reading?.height ?? 0n);
    const best = largest(0n, ...heights);
    for (const [index, member] of present.entries()) member.lag = best - (heights[index] ?? 0n);
  }

  function tell(member: Member): void {
    const { name, condition, trouble } = member.state;
    if (told.get(member) === condition) return;
    told.set(member, condition);
    const fields = { node: name, condition, ...(trouble !== undefined && { trouble }) };
    if (condition === "good") log.info("RPC node can be used", fields);
    else log.error("RPC node is avoided", fields);
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
      const work = (member: Member) =>
        member.call(method, params, (result) => read(result, member.transport.name), options);
      return ask(method, work, options);
    },
    async head(bounds = {}) {
      const { result } = await ask("status", (member) => readUsable(member, bounds), bounds);
      return result;
    },
    async standsStill(bounds) {
      const still = preferred;
      await probe(bounds);
      const others = members.filter((member) => member !== still && isUsable(member));
      const heightOf = ({ reading }: Member) => reading?.height ?? 0n;
      const [next] = others.sort((a, b) => rank(a) - rank(b) || Number(heightOf(b) - heightOf(a)));
      if (next) prefer(next);
    },
    probe,
    async run(signal) {
      while (!signal.aborted) {
        await sleep(clock, jitter(random, limits.rpcProbeMs), signal).catch(unlessAborted(signal));
        if (!signal.aborted) await probe({ signal }).then(() => undefined, unlessAborted(signal));
      }
    },
    get preferred() {
      return preferred.transport;
    },
    onSwitch: (listener) => void listeners.push(listener),
    get members() {
      return members.map(({ state }) => state);
    },
    get newest() {
      return members
        .filter(isUsable)
        .flatMap(({ reading }) => reading ?? [])
        .reduce<Reading | undefined>((best, each) => (best && best.height >= each.height ? best : each), undefined);
    },
    get switches() {
      return switches;
    },
    close() {
      for (const { transport } of members) transport.close();
    },
  };
}

/** What a node that is still loading older blocks says is old, however well it answers. */
async function readUsable(member: Member, bounds: CallLimits): Promise<Reading> {
  const reading = await member.read(bounds);
  if (!reading.catchingUp) return reading;
  const reason = "it is still loading older blocks";
  throw new ProviderError("AKP_CHAIN_UNREACHABLE", { endpoint: member.transport.name, reason });
}

/** The end that was asked for is no failure. */
export function unlessAborted(signal: AbortSignal): (thrown: unknown) => void {
  return (thrown) => {
    if (!signal.aborted) throw thrown;
  };
}
