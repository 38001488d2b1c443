/** What the containers of a lease print: a frame for each line, with the pod that it is from. */

import type { LogsRequest, PodLine, TenantEvent, TenantLeases, TenantPods } from "../../kube/tenant-access.ts";
import type { Address } from "../../market/address.ts";
import { goQuote } from "../../market/go-json.ts";
import { bidOn } from "../../market/ids.ts";
import { goJson } from "../../market/sorted-json.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createFairSemaphore } from "../../runtime/semaphore.ts";
import { checkAllowed } from "../auth/identity.ts";
import { failure, type RestAnswer } from "../rest/answer.ts";
import type { StreamRoute } from "../rest/route.ts";
import { type Close, closeCodes, type StreamHandler, type TenantStream } from "./tenant-stream.ts";

interface LogsRouteDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "find">;
  readonly pods: Pick<TenantPods, "logs">;
}

const logsScope = "logs";
const noPods = { code: closeCodes.internal, reason: "no running pods" };

export function logsRoute({ provider, leases, pods }: LogsRouteDeps): StreamRoute {
  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/logs", access: "stream", scope: logsScope },
    about: "What the containers of a lease print, line by line, over a WebSocket.",
    answers: { 101: "The stream.", 400: "The query makes no sense.", 401: "Not the lease's owner, or not for this." },
    prepare(request): ReturnType<StreamRoute["prepare"]> {
      const asked = readStreamParameters(request.query);
      if ("status" in asked) return asked;
      const services = permittedServices(asked.services, request.identity.servicesOf(request, logsScope));
      const lease = bidOn(request, provider);
      const stream: StreamHandler = async ({ send, signal }) => {
        const options = { ...asked, services, signal };
        const refused = refusalOf(leases.find(lease), options);
        if (refused) return refused;
        for await (const lines of pods.logs(lease, options)) {
          for (const line of lines) {
            const room = send(frameOf(line));
            if (room) await room;
            if (signal.aborted) break;
          }
        }
        return { code: closeCodes.done };
      };
      return stream;
    },
  };
}

/** Where there is nothing to be read; what is followed may come yet. */
function refusalOf(lease: ReturnType<TenantLeases["find"]>, { services, follow }: LogsRequest): Close | undefined {
  if (lease.state !== "running") return { code: closeCodes.notFound };
  const asked = lease.services.filter(({ name }) => services?.has(name) ?? true);
  const canBe = follow ? asked.length > 0 : asked.some(({ replicas }) => replicas > 0);
  return canBe ? undefined : noPods;
}

/** Go writes so what is no UTF-8. */
const replacement = /\ufffd/g;

function frameOf({ pod, text }: PodLine): string {
  const json = goJson(text);
  const message = json.includes("\ufffd") ? json.replace(replacement, "\\ufffd") : json;
  // The name of a pod has nothing in it that would have to be escaped.
  return `{"name":"${pod}","message":${message}}\n`;
}

// What happened to a lease and what happens to it, each in a frame of its own.

/** Of these to one reader before others have their turn: about a millisecond. */
const eventsToldAtOnce = 64;

interface EventsRouteDeps {
  readonly provider: Address;
  readonly pods: Pick<TenantPods, "events">;
  readonly clock: Pick<Clock, "yield">;
}

const eventsScope = "events";

export function eventsRoute({ provider, pods, clock }: EventsRouteDeps): StreamRoute {
  /** What happens to one lease is told to all who follow it in one moment: others need not wait until all are told. */
  const inTurn = createFairSemaphore(1);
  const frames = new WeakMap<TenantEvent, string>();

  function frameOf(event: TenantEvent): string {
    const frame = frames.get(event) ?? frameText(event);
    frames.set(event, frame);
    return frame;
  }

  async function tell(batch: readonly TenantEvent[], { send, signal }: TenantStream, owner: Address): Promise<void> {
    const rest = batch.values();
    for (let isOver = false; !isOver && !signal.aborted; ) {
      let room: Promise<void> | undefined;
      await inTurn(owner, () => {
        for (let sent = 0; sent < eventsToldAtOnce && !room; sent += 1) {
          const { value, done } = rest.next();
          isOver = done === true;
          if (!value) break;
          room = send(frameOf(value));
        }
        return clock.yield();
      });
      await room;
    }
  }

  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/kubeevents", access: "stream", scope: eventsScope },
    about:
      "What happened to the pods of a lease and what is done for it; with `follow`, also what happens from then on.",
    answers: {
      101: "A WebSocket with one event in each frame.",
      400: "The parameters make no sense, or it is no WebSocket.",
      401: "Not the lease's owner, or not for this.",
    },
    prepare({ query, identity, owner, dseq, gseq, oseq }) {
      const asked = readStreamParameters(query);
      if ("status" in asked) return asked;
      const lease = bidOn({ owner, dseq, gseq, oseq }, provider);
      const services = permittedServices(asked.services, identity.servicesOf(lease, eventsScope));
      return async (stream) => {
        const { signal } = stream;
        for await (const batch of pods.events(lease, { services, follow: asked.follow, signal }))
          await tell(batch, stream, owner);
        return { code: closeCodes.done };
      };
    },
  };
}

/** As Go writes it; who did not give its name has none. */
function frameText({ type, reportingController, reportingInstance, reason, note, object }: TenantEvent): string {
  const { kind, namespace, name } = object;
  const text = goJson({
    type,
    ...(reportingController !== "" && { reportingController }),
    ...(reportingInstance !== "" && { reportingInstance }),
    ...{ reason, note, object: { kind, namespace, name } },
  });
  return `${text}\n`;
}

// What is asked of logs and events, read from the query as the network reads it and refused in its words.

export interface StreamParameters {
  readonly services: ReadonlySet<string> | undefined;
  readonly follow: boolean;
  /** So many of the last lines; undefined: all. */
  readonly tail: number | undefined;
}

/** An answer where it makes no sense. What is empty is as if it were not there. */
export function readStreamParameters(query: URLSearchParams): StreamParameters | RestAnswer {
  // The network's CLI says the one, all others the other.
  const named = query.get("service") || query.get("services") || "";
  if (named.endsWith(",")) return failure(400, 'parameter "service" must not contain trailing comma');
  const followText = query.get("follow") || "false";
  const follow = bools.get(followText);
  if (follow === undefined) return failure(400, refusal("ParseBool", followText, "invalid syntax"));
  const tail = readTail(query.get("tail") || "-1");
  if (typeof tail === "object") return tail;
  const names = named.split(",").map((name) => name.trim());
  return { services: named === "" ? undefined : new Set(names), follow, tail: tail < 0 ? undefined : tail };
}

/** Those of them that the credentials are good for; who asks for one by name that they are not good for is refused. */
export function permittedServices(
  asked: ReadonlySet<string> | undefined,
  given: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (!asked || !given) return asked ?? given;
  checkAllowed([...asked].every((name) => given.has(name)));
  return asked;
}

const bools = new Map<string, boolean>([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

function readTail(text: string): number | RestAnswer {
  if (!/^[+-]?[0-9]+$/.test(text)) return failure(400, refusal("ParseInt", text, "invalid syntax"));
  const value = Number(text);
  if (value < -(2 ** 31) || value >= 2 ** 31) return failure(400, refusal("ParseInt", text, "value out of range"));
  return value < -1 ? failure(400, 'parameter "tail" contains invalid value') : value;
}

function refusal(reader: string, text: string, reason: string): string {
  return `strconv.${reader}: parsing ${goQuote(text)}: ${reason}`;
}
