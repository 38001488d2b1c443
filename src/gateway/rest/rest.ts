/** From a request to its response: path, route, credentials, authorization, handler. Synchronous where everything is cached. */
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
import { type Upgrade, type Upgrades, upgradeError } from "../streams/upgrade.ts";
import { createDateText, empty, failure, messageAnswer, type RestAnswer, sendAnswer, sendError } from "./answer.ts";
import { createBodyReader } from "./body.ts";
import { presentedCertificates, rateLimitKeyOf } from "./rate-limit-key.ts";
import { countHeaders, firstHeader, NotANumber, parsePathDseq, parsePathSeq, readPath } from "./request-head.ts";
import { createRouter, type Names, type Route, RouteRequest, type StreamRoute } from "./route.ts";

/** As the Go provider gives a manifest; nothing else takes a tenth of it. */
export const gatewayAnswerMs = 120 * second;

interface RestDeps {
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly streams?: { readonly provider: Address; readonly upgrades: Upgrades } | undefined;
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for every response; without a route for an unknown path. */
  readonly onAnswer?: (route: Route | undefined, status: number, tookMs: number) => void;
}

export type Rest = ReturnType<typeof createRest>;

interface RequestOptions {
  /** The client waits for a 100 Continue before it sends the body. */
  readonly awaitsContinue?: boolean;
  readonly upgrade?: Upgrade;
}

type MaybePromise = RestAnswer | Promise<RestAnswer>;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  awaitsContinue: boolean;
  readonly upgrade: Upgrade | undefined;
  readonly query: string;
  route: Route | undefined;
}

/** It has become a WebSocket: no response is sent. */
const upgraded: RestAnswer = { status: 101, headers: [], body: "" };

const pageNotFound = failure(404, "404 page not found");

export function createRest(deps: RestDeps) {
  const { routes, authenticator, streams, clock, log, onAnswer = () => undefined } = deps;
  const find = createRouter(routes);
  const date = createDateText(clock);
  const readBody = createBodyReader(deps.budget);

  /** Credentials first, then the numbers of the path, authorization, and the body last. */
  function answerTo(exchange: Exchange, path: string): MaybePromise {
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

  function handle(exchange: Exchange, route: Route, names: Names, identity: CallerIdentity): MaybePromise {
    const { request, response } = exchange;
    const routed = new RouteRequest(exchange, identity, permit(route, names, identity), names);
    if (route.access === "stream") return openStream(exchange, route, routed, streams);
    if (!route.body) return bounded(route.handle(routed), routed, clock);
    if (exchange.awaitsContinue) response.writeContinue();
    exchange.awaitsContinue = false;
    const { mostBytes } = route.body;
    return readBody(request, { mostBytes, account: identity.owner }, (body) => {
      routed.body = body;
      return bounded(route.handle(routed), routed, clock);
    });
  }

  function answerSafely(exchange: Exchange, path: string): MaybePromise {
    try {
      const answer = answerTo(exchange, path);
      return answer instanceof Promise ? answer.catch((thrown) => failed(thrown, exchange, log)) : answer;
    } catch (thrown) {
      return failed(thrown, exchange, log);
    }
  }

  /** Returns a promise where the response is not sent at once. */
  function answer(
    request: IncomingMessage,
    response: ServerResponse,
    { awaitsContinue = false, upgrade }: RequestOptions = {},
  ): Promise<void> | undefined {
    const startedMs = clock.monotonicMs();
    const target = readPath(request.url ?? "/");
    const query = target.kind === "path" ? target.query : "";
    const exchange: Exchange = { request, response, awaitsContinue, upgrade, query, route: undefined };
    const report = (status: number) => onAnswer(exchange.route, status, clock.monotonicMs() - startedMs);
    const send = (answer: RestAnswer) => {
      report(answer.status);
      if (answer === upgraded) return;
      // The body may come all the same.
      if (exchange.awaitsContinue) response.shouldKeepAlive = false;
      if (!response.destroyed) sendAnswer(request, response, answer, date());
    };
    const malformed = target.kind === "malformed" ? "400 Bad Request" : malformedHost(request);
    if (malformed !== undefined) {
      report(400);
      sendError(request.socket, malformed, clock);
    } else if (request.url === "*" && request.method === "OPTIONS") {
      send(empty(200));
    } else if (target.kind === "unclean") {
      send({ status: 301, headers: [["Location", target.location]], body: "" });
    } else if (target.kind === "path") {
      const answer = answerSafely(exchange, target.path);
      if (!(answer instanceof Promise)) send(answer);
      else return answer.then(send).catch((error: unknown) => log.debug("response not sent", { error }));
    }
    return undefined;
  }

  return Object.assign(answer, {
    /** Whether the request may become a WebSocket: then Node hands its connection over. */
    mayUpgrade(request: IncomingMessage): boolean {
      const target = readPath(request.url ?? "/");
      if (target.kind !== "path" || malformedHost(request) !== undefined) return false;
      const found = find(request.method ?? "", target.path);
      return found.kind === "route" && found.route.access === "stream" && upgradeError(request) === undefined;
    },
  });
}

/** The query is read first, then authorization is checked, then whether it is a WebSocket. */
function openStream(
  { request, upgrade }: Exchange,
  route: StreamRoute,
  routed: RouteRequest,
  streams: RestDeps["streams"],
): RestAnswer {
  const prepared = route.prepare(routed);
  if (typeof prepared !== "function") return prepared;
  checkAllowed(routed.identity.mayUseLease(routed, route.scope));
  const error = upgradeError(request);
  if (error) return error;
  invariant(upgrade && streams, "what may be upgraded comes with its connection");
  const lease = bidOn(routed, streams.provider);
  const { identity } = routed;
  streams.upgrades.accept(request, upgrade, { credentials: credentialsOf(request), identity, lease }, prepared);
  return upgraded;
}

function bounded(answer: MaybePromise, routed: RouteRequest, clock: Clock): MaybePromise {
  if (!(answer instanceof Promise)) return answer;
  return withDeadline(clock, gatewayAnswerMs, answer, () => {
    routed.end();
    // As the Go provider; 504 would be better.
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

/** The numbers of the path, once the caller is authorized for them. */
function permit(route: Route, names: Names, identity: CallerIdentity): LeaseNumbers {
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

/** HTTP/1.1 requires exactly one. */
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
  // The handlers of a client that left are aborted.
  if (response.destroyed) log.debug("request failed after its client had left", { error });
  else log.error("request failed", { error });
  // The message may contain secrets.
  return failure(500, "internal error");
}
