/** From a request to its answer: path, route, credentials, permission, handler. Where all is known already, nothing waits. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Address } from "../../market/address.ts";
import { bidOn } from "../../market/ids.ts";
import type { RequestBudget } from "../../runtime/byte-budget.ts";
import { type Clock, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { Log } from "../../runtime/log.ts";
import {
  AuthError,
  type Authenticator,
  anonymous,
  type CallerCredentials,
  type CallerIdentity,
  checkAllowed,
  type LeaseNumbers,
} from "../auth/identity.ts";
import { type Upgrade, type Upgrades, upgradeRefusal } from "../streams/upgrade.ts";
import { createDateText, empty, failure, messageAnswer, type RestAnswer, sendAnswer, sendError } from "./answer.ts";
import { createBodyReader } from "./body.ts";
import { presentedCertificates, rateLimitKeyOf } from "./rate-limit-key.ts";
import { countHeaders, firstHeader, NotANumber, parsePathDseq, parsePathSeq, readPath } from "./request-head.ts";
import { createRouter, type Route, RouteRequest, type StreamRoute } from "./route.ts";

/** The network's own gateway gives a manifest two minutes; nothing else takes a tenth of it. */
export const gatewayAnswerMs = 120 * second;

interface RestDeps {
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly streams?: { readonly provider: Address; readonly upgrades: Upgrades } | undefined;
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of every answer; without a route where there is none. */
  readonly onAnswer?: (route: Route | undefined, status: number, tookMs: number) => void;
}

export interface Rest {
  /** Resolves when it is answered, where that is not at once. */
  (request: IncomingMessage, response: ServerResponse, how?: How): Promise<void> | undefined;
  /** Whether it is one that may become a WebSocket: then it comes with its connection. */
  mayUpgrade(request: IncomingMessage): boolean;
}

interface How {
  /** The client sends its body only once it is told to. */
  readonly awaitsContinue?: boolean;
  readonly upgrade?: Upgrade;
}

type MaybeLater = RestAnswer | Promise<RestAnswer>;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  awaitsContinue: boolean;
  readonly upgrade: Upgrade | undefined;
  readonly query: string;
  route: Route | undefined;
}

/** It has become a WebSocket: nothing is sent any more. */
const upgraded: RestAnswer = { status: 101, headers: [], body: "" };

const pageNotFound = failure(404, "404 page not found");

export function createRest(deps: RestDeps): Rest {
  const { routes, authenticator, streams, clock, log, onAnswer = () => undefined } = deps;
  const find = createRouter(routes);
  const date = createDateText(clock);
  const readBody = createBodyReader(deps.budget);

  /** Credentials come first, then the numbers of the path, then what they are good for, and the body last. */
  function answerTo(exchange: Exchange, path: string): MaybeLater {
    const { request } = exchange;
    const found = find(request.method ?? "", path);
    if (found.kind !== "route") return found.kind === "unknown" ? pageNotFound : empty(405);
    const { route, names } = found;
    exchange.route = route;
    if (route.access === "public" && route.readsAuthorization) return handle(exchange, route, names, anonymous);
    const identity = authenticator.identify(credentialsOf(request));
    if (!(identity instanceof Promise)) return handle(exchange, route, names, identity);
    return identity.then((known) => handle(exchange, route, names, known));
  }

  function handle(
    exchange: Exchange,
    route: Route,
    names: Readonly<Record<string, string>>,
    identity: CallerIdentity,
  ): MaybeLater {
    const { request, response } = exchange;
    const numbers = permit(route, names, identity);
    const asked = new RouteRequest(exchange, identity, numbers, names);
    if (route.access === "stream") return openStream(exchange, route, asked, streams);
    if (!route.body) return bounded(route.handle(asked), asked, clock);
    if (exchange.awaitsContinue) response.writeContinue();
    exchange.awaitsContinue = false;
    const { mostBytes } = route.body;
    return readBody(request, { mostBytes, account: identity.owner }, (body) => {
      asked.body = body;
      return bounded(route.handle(asked), asked, clock);
    });
  }

  function answerSafely(
    exchange: Exchange,
    path: string,
    send: (answer: RestAnswer) => void,
  ): Promise<void> | undefined {
    try {
      const answer = answerTo(exchange, path);
      if (!(answer instanceof Promise)) send(answer);
      else
        return answer
          .catch((thrown: unknown) => failed(thrown, exchange, log))
          .then(send)
          .catch((error: unknown) => log.debug("answer not sent", { error }));
    } catch (thrown) {
      send(failed(thrown, exchange, log));
    }
    return undefined;
  }

  function answer(request: IncomingMessage, response: ServerResponse, how: How = {}): Promise<void> | undefined {
    const startedMs = clock.monotonicMs();
    const target = readPath(request.url ?? "/");
    const query = target.kind === "path" ? target.query : "";
    const { awaitsContinue = false, upgrade } = how;
    const exchange: Exchange = { request, response, awaitsContinue, upgrade, query, route: undefined };
    const told = (status: number) => onAnswer(exchange.route, status, clock.monotonicMs() - startedMs);
    const send = (answer: RestAnswer) => {
      told(answer.status);
      if (answer === upgraded) return;
      // Whether its body comes all the same, nobody knows.
      if (exchange.awaitsContinue) response.shouldKeepAlive = false;
      if (!response.destroyed) sendAnswer(request, response, answer, date());
    };
    const malformed = target.kind === "malformed" ? "400 Bad Request" : malformedHost(request);
    if (malformed !== undefined) {
      told(400);
      sendError(request.socket, malformed, clock);
    } else if (request.url === "*" && request.method === "OPTIONS") {
      send(empty(200));
    } else if (target.kind === "unclean") {
      send({ status: 301, headers: [["Location", target.location]], body: "" });
    } else if (target.kind === "path") {
      return answerSafely(exchange, target.path, send);
    }
    return undefined;
  }

  return Object.assign(answer, {
    mayUpgrade(request: IncomingMessage): boolean {
      const target = readPath(request.url ?? "/");
      if (target.kind !== "path" || malformedHost(request) !== undefined) return false;
      const found = find(request.method ?? "", target.path);
      return found.kind === "route" && found.route.access === "stream" && upgradeRefusal(request) === undefined;
    },
  });
}

/** What is asked comes before what it is good for, and whether it is a WebSocket at all comes last. */
function openStream(
  { request, upgrade }: Exchange,
  route: StreamRoute,
  asked: RouteRequest,
  streams: RestDeps["streams"],
): RestAnswer {
  const prepared = route.prepare(asked);
  if (typeof prepared !== "function") return prepared;
  checkAllowed(asked.identity.mayUseLease(asked, route.scope));
  const refused = upgradeRefusal(request);
  if (refused) return refused;
  invariant(upgrade && streams, "what may be upgraded comes with its connection");
  const lease = bidOn(asked, streams.provider);
  const { identity } = asked;
  streams.upgrades.accept(request, upgrade, { credentials: credentialsOf(request), identity, lease }, prepared);
  return upgraded;
}

function bounded(answer: MaybeLater, asked: RouteRequest, clock: Clock): MaybeLater {
  if (!(answer instanceof Promise)) return answer;
  return withDeadline(clock, gatewayAnswerMs, answer, () => {
    asked.end();
    // 504 would say it better, and tools know this one.
    return failure(500, "context deadline exceeded");
  });
}

function credentialsOf(request: IncomingMessage): CallerCredentials {
  return {
    authorization: firstHeader(request, "authorization"),
    certificates: presentedCertificates(request.socket as TLSSocket),
    source: rateLimitKeyOf(request.socket),
  };
}

/** What the numbers of a path are, where its owner may have that. */
function permit(route: Route, names: Readonly<Record<string, string>>, identity: CallerIdentity): LeaseNumbers {
  const { access } = route;
  if (access === "public") return noNumbers;
  checkAllowed(identity.mayUseProvider && identity.owner !== undefined);
  if (access === "owner") return noNumbers;
  const dseq = parsePathDseq(names["dseq"] ?? "");
  if (access === "deployment") {
    checkAllowed(identity.mayUseDeployment(dseq) && identity.mayUseDeployment(dseq, route.scope));
    return { ...noNumbers, dseq };
  }
  const lease = { dseq, gseq: parsePathSeq(names["gseq"] ?? ""), oseq: parsePathSeq(names["oseq"] ?? "") };
  checkAllowed(identity.mayUseLease(lease) && (access === "stream" || identity.mayUseLease(lease, route.scope)));
  return lease;
}

const noNumbers: LeaseNumbers = { dseq: 0n, gseq: 0, oseq: 0 };

/** Whoever speaks HTTP/1.1 names exactly one. */
function malformedHost(request: IncomingMessage): string | undefined {
  const hosts = countHeaders(request, "host");
  if (hosts > 1) return "400 Bad Request";
  return hosts === 0 && request.httpVersionMinor === 1 ? "400 Bad Request: missing required Host header" : undefined;
}

function failed(thrown: unknown, { response }: Exchange, log: Log): RestAnswer {
  if (thrown instanceof AuthError) return messageAnswer(thrown.status, thrown.message);
  if (thrown instanceof NotANumber) return failure(400, thrown.message);
  const error = ProviderError.from(thrown);
  if (error.code !== "AKP_INTERNAL") return failure(error.entry.http, error.message);
  // A client that left takes down what was under way for it.
  if (response.destroyed) log.debug("request failed after its client had left", { error });
  else log.error("request failed", { error });
  // An unforeseen error may contain anything, so its message is not sent.
  return failure(500, "internal error");
}
