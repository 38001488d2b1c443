/** From a request to its answer: path, route, credentials, permission, handler. Where all is known already, nothing waits. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { type Clock, withDeadline } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { type Authenticator, AuthRefusal, checkAllowed, type Identity, type LeaseNumbers } from "../auth/identity.ts";
import { nobody } from "../auth/permissions.ts";
import { type Answer, empty, failure, refusal } from "./answer.ts";
import { AskedRequest } from "./asked-request.ts";
import { createBodyReader } from "./body.ts";
import { presentedCertificates } from "./client-certificates.ts";
import { NotANumber, parseDseq, parseSeq } from "./path-numbers.ts";
import { countHeaders, firstHeader } from "./raw-headers.ts";
import { readPath } from "./request-path.ts";
import type { Route } from "./route.ts";
import { createRouter } from "./router.ts";
import { createDateText, sendAnswer, sendRefusal } from "./send-answer.ts";

interface RestDeps {
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of every answer; without a route where there is none. */
  readonly onAnswer?: (route: Route | undefined, status: number, tookMs: number) => void;
}

/** `awaitsContinue`: the client sends its body only once it is told to. */
export type Rest = (request: IncomingMessage, response: ServerResponse, awaitsContinue?: boolean) => void;

/** A request on its way to its answer. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Until it was told. */
  awaitsContinue: boolean;
  readonly query: string;
  route: Route | undefined;
}

const pageNotFound = failure(404, "404 page not found");

export function createRest({ routes, authenticator, clock, log, onAnswer = () => undefined }: RestDeps): Rest {
  const find = createRouter(routes);
  const date = createDateText(clock);
  const readBody = createBodyReader();

  /** Credentials come first, then the numbers of the path, then what they are good for, and the body last. */
  function answerTo(exchange: Exchange, path: string): Answer | Promise<Answer> {
    const { request } = exchange;
    const found = find(request.method ?? "", path);
    if (found.kind !== "route") return found.kind === "unknown" ? pageNotFound : empty(405);
    const { route, names } = found;
    exchange.route = route;
    if (route.access === "public" && route.readsAuthorization) return handle(exchange, route, names, nobody);
    const identity = authenticator.identify({
      authorization: firstHeader(request, "authorization"),
      certificates: presentedCertificates(request.socket as TLSSocket),
      source: request.socket.remoteAddress ?? "",
    });
    if (!(identity instanceof Promise)) return handle(exchange, route, names, identity);
    return identity.then((known) => handle(exchange, route, names, known));
  }

  function handle(
    exchange: Exchange,
    route: Route,
    names: Readonly<Record<string, string>>,
    identity: Identity,
  ): Answer | Promise<Answer> {
    const { request, response } = exchange;
    const numbers = permit(route, names, identity);
    const asked = new AskedRequest(exchange, identity, numbers, names);
    if (!route.body) return bounded(route.handle(asked), asked);
    if (exchange.awaitsContinue) response.writeContinue();
    exchange.awaitsContinue = false;
    return readBody(request, route.body.mostBytes).then((body) => {
      asked.body = body;
      return bounded(route.handle(asked), asked);
    });
  }

  function bounded(answer: Answer | Promise<Answer>, asked: AskedRequest): Answer | Promise<Answer> {
    if (!(answer instanceof Promise)) return answer;
    return withDeadline(clock, limits.gatewayAnswerMs, answer, () => {
      asked.end();
      // 504 would say it better, and tools know this one.
      return failure(500, "context deadline exceeded");
    });
  }

  function failed(thrown: unknown, { response }: Exchange): Answer {
    if (thrown instanceof AuthRefusal) return refusal(thrown.status, thrown.message);
    if (thrown instanceof NotANumber) return failure(400, thrown.message);
    const error = ProviderError.from(thrown);
    if (error.code === "AKP_INTERNAL") {
      // Who has left takes down what was under way for it.
      if (response.destroyed) log.debug("request failed after its client had left", { error });
      else log.error("request failed", { error });
      // What nobody foresaw may hold anything; who asked learns nothing by it.
      return failure(500, "internal error");
    }
    return failure(error.entry.http, error.message);
  }

  function answerSafely(exchange: Exchange, path: string, send: (answer: Answer) => void): void {
    try {
      const answer = answerTo(exchange, path);
      if (!(answer instanceof Promise)) send(answer);
      else
        answer
          .catch((thrown: unknown) => failed(thrown, exchange))
          .then(send)
          .catch(lost);
    } catch (thrown) {
      send(failed(thrown, exchange));
    }
  }

  function lost(error: unknown): void {
    log.debug("answer not sent", { error });
  }

  return (request, response, awaitsContinue = false) => {
    const startedMs = clock.monotonicMs();
    const target = readPath(request.url ?? "/");
    const query = target.kind === "path" ? target.query : "";
    const exchange: Exchange = { request, response, awaitsContinue, query, route: undefined };
    const told = (status: number) => onAnswer(exchange.route, status, clock.monotonicMs() - startedMs);
    const send = (answer: Answer) => {
      told(answer.status);
      // Whether its body comes all the same, nobody knows.
      if (exchange.awaitsContinue) response.shouldKeepAlive = false;
      if (!response.destroyed) sendAnswer(request, response, answer, date());
    };
    const malformed = target.kind === "malformed" ? "400 Bad Request" : malformedHost(request);
    if (malformed !== undefined) {
      told(400);
      sendRefusal(request.socket, malformed, clock);
    } else if (request.url === "*" && request.method === "OPTIONS") {
      send(empty(200));
    } else if (target.kind === "unclean") {
      send({ status: 301, headers: [["Location", target.location]], body: "" });
    } else if (target.kind === "path") {
      answerSafely(exchange, target.path, send);
    }
  };
}

/** What the numbers of a path are, where its owner may have that. */
function permit(route: Route, names: Readonly<Record<string, string>>, identity: Identity): LeaseNumbers {
  const { access } = route;
  if (access === "public") return noNumbers;
  checkAllowed(identity.mayUseProvider && identity.owner !== undefined);
  if (access === "owner") return noNumbers;
  const dseq = parseDseq(names["dseq"] ?? "");
  if (access === "deployment") {
    checkAllowed(identity.mayUseDeployment(dseq) && identity.mayUseDeployment(dseq, route.scope));
    return { ...noNumbers, dseq };
  }
  const lease = { dseq, gseq: parseSeq(names["gseq"] ?? ""), oseq: parseSeq(names["oseq"] ?? "") };
  checkAllowed(identity.mayUseLease(lease) && identity.mayUseLease(lease, route.scope));
  return lease;
}

const noNumbers: LeaseNumbers = { dseq: 0n, gseq: 0, oseq: 0 };

/** Whoever speaks HTTP/1.1 names exactly one. */
function malformedHost(request: IncomingMessage): string | undefined {
  const hosts = countHeaders(request, "host");
  if (hosts > 1) return "400 Bad Request";
  return hosts === 0 && request.httpVersionMinor === 1 ? "400 Bad Request: missing required Host header" : undefined;
}
