/** Replays recorded streams of the Go gateway over TLS: the same frames and end, except for listed differences. */
import assert from "node:assert/strict";
import type { GatewayConnection, GatewayRequest } from "../support/gateway-client.ts";
import { type Frame, openStream, upgradeHeaders } from "../support/stages/stream-stage.ts";
import { checkAllSeen, createComparison, type IntendedAnswer, type RecordedVector } from "./recorded-gateway.ts";

interface RecordedFrame {
  readonly dir: "server" | "client" | "…";
  readonly type: Frame["type"];
  readonly text?: string;
  readonly base64?: string;
  /** Of a binary frame its first byte, before the text. */
  readonly code?: number;
}

interface RecordedClose {
  /** Null: it had none, or there was no close frame at all. */
  readonly code: number | null;
  readonly reason: string | null;
}

export interface RecordedStream extends RecordedVector {
  readonly frames?: readonly RecordedFrame[];
  readonly close?: RecordedClose;
  readonly end?: string;
}

/** An intended difference: only the given fields differ; of several, the last counts. */
export interface IntendedStream {
  readonly why: string;
  readonly of: RegExp | ((vector: RecordedStream) => boolean);
  /** What is sent, as the test shows it. */
  readonly shown?: unknown;
  readonly close?: RecordedClose;
  /** It goes on after these: nothing ends it. */
  readonly goesOn?: true;
}

interface StreamComparison {
  /** As compared: without what differs everywhere else, and in an order of its own where several write at once. */
  readonly show: (frames: readonly Buffer[]) => unknown;
  readonly intended: readonly IntendedStream[];
  /** Of what is rejected before it is a stream. */
  readonly answers?: readonly IntendedAnswer[];
  readonly translate: (recorded: string) => string;
}

/** More than any answer takes; a pause of a kubelet is not among them. */
const limitMs = 60_000;

export function createStreamComparison({ show, intended, answers = [], translate }: StreamComparison) {
  const answered = createComparison(answers, translate);
  const unseen = new Set(intended);

  /** `then` happens when all that was recorded has come, and ends what would go on. */
  async function play(
    port: number,
    vector: RecordedStream,
    request: GatewayRequest & Partial<GatewayConnection>,
    then: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    const isUpgrade = vector.request.upgrade === true;
    const headers = [...(isUpgrade ? upgradeHeaders : []), ...(request.headers ?? [])];
    const client = await openStream(port, { ...request, headers });
    const timer = setTimeout(() => client.socket.destroy(), limitMs);
    try {
      const { answer } = client;
      assert(answer, `an answer to ${vector.name}`);
      if (vector.answer.status !== 101 || answer.status !== 101) return answered.compare(vector, answer);
      const rows = intended.filter(({ of }) => (of instanceof RegExp ? of.test(vector.name) : of(vector)));
      for (const row of rows) unseen.delete(row);
      const { why, ...row } = Object.assign({ why: "" }, ...rows) as Partial<IntendedStream>;
      const recorded = framesOf(vector);
      const shown = "shown" in row ? row.shown : show(recorded.filter(isData).map(bytesOf));
      const close = row.close ?? vector.close;
      const goesOn = row.goesOn ?? vector.end === "recorder stopped";
      const of = `${vector.name}${why ? ` (${why})` : ""}`;
      await replay(client, recorded, close?.code !== vector.close?.code || "shown" in row || goesOn === true);
      await then();
      if (!goesOn) {
        await client.until(() => client.close !== undefined);
        const isClosedByClient = recorded.some(({ dir, type }) => dir === "client" && type === "close");
        if (client.close && !isClosedByClient)
          client.send("close", client.frames.findLast(({ type }) => type === "close")?.bytes);
        await client.until(() => client.isEnded);
      }
      const ours = client.frames.filter(({ type }) => type === "text" || type === "binary").map(({ bytes }) => bytes);
      assert.deepEqual(show(goesOn ? ours.slice(0, recorded.filter(isData).length) : ours), shown, `frames of ${of}`);
      const ourClose = client.close && { code: client.close.code ?? null, reason: client.close.reason };
      assert.deepEqual(ourClose ?? { code: null, reason: null }, goesOn ? { code: null, reason: null } : close, of);
    } finally {
      clearTimeout(timer);
      client.socket.destroy();
    }
  }

  return {
    play,
    finish(): void {
      answered.finish();
      checkAllSeen(unseen);
    },
  };
}

type Client = Awaited<ReturnType<typeof openStream>>;

/** Does what the recorded client did, each after what had come before it. */
async function replay(client: Client, recorded: readonly RecordedFrame[], isOther: boolean): Promise<void> {
  let awaited = 0;
  for (const frame of recorded) {
    if (frame.dir === "client") client.send(frame.type, bytesOf(frame));
    else if (isData(frame)) awaited += 1;
    else if (frame.type === "pong" && !isOther) await client.until(() => client.count("pong") > 0);
    else continue;
    if (frame.dir === "server") await client.until(() => hasCome(client, awaited));
  }
}

function hasCome(client: Client, frames: number): boolean {
  return client.count("text") + client.count("binary") >= frames || client.close !== undefined;
}

/** Up to where some were left out. Pings come at their own time, and are tried on a clock that can be moved. */
function framesOf({ frames = [] }: RecordedStream): RecordedFrame[] {
  const end = frames.findIndex(({ dir }) => dir === "…");
  const isPing = ({ type, dir }: RecordedFrame) =>
    (type === "ping" && dir === "server") || (type === "pong" && dir === "client");
  return frames.slice(0, end < 0 ? undefined : end).filter((frame) => !isPing(frame));
}

function isData({ dir, type }: RecordedFrame): boolean {
  return dir === "server" && (type === "text" || type === "binary");
}

function bytesOf({ base64, text = "", code }: RecordedFrame): Buffer {
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  const bytes = Buffer.from(text);
  return code === undefined ? bytes : Buffer.concat([Buffer.of(code), bytes]);
}
