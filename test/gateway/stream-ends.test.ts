/** Ends of tenants' streams at a whole provider over TLS, with an embedded chain, tokens and certificates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { providerLeaseV1ServiceLogsRequest } from "../../src/runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { eventually } from "../support/eventually.ts";
import { type GatewayConnection, sendRequest } from "../support/gateway-client.ts";
import { frame, openGrpcClient } from "../support/grpc-client.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { openStream } from "../support/stages/stream-stage.ts";

type Shown = Pick<GatewayConnection, "certificate"> & { readonly authorization?: string };

const paths = {
  logs: "/lease/1/1/1/logs?follow=true",
  events: "/lease/1/1/1/kubeevents?follow=true",
  shell: "/lease/1/1/1/shell?podIndex=0&service=cell&tty=1&stdin=1&cmd0=sh",
};

interface Ended {
  /** The close codes of logs, events and shell, the exit code of the command, and the status of gRPC. */
  readonly codes: readonly (number | undefined)[];
  /** The reasons of logs and events, the message of the command's end, and that of gRPC. */
  readonly words: readonly (string | undefined)[];
}

interface Following {
  isOpen(): boolean;
  /** How each of them ended, and what they said. */
  ends(by: string): Promise<Ended>;
}

const killed = 137;
const over = [1008, 1008, 1008, killed, grpcCodes.Unauthenticated];
const closed = [1000, 1000, 1000, killed, grpcCodes.NotFound];
const noLongerGood = "the credentials of this stream are no longer good:";

function check({ codes, words }: Ended, expected: readonly number[], why: string): void {
  assert.deepEqual(codes, expected);
  for (const said of words) assert.ok(said?.startsWith(why), said);
}

test("logs, events, a shell and gRPC end with their token, their certificate and their lease, and with no other's", async (t) => {
  const { tenant, port, grpcPort } = await startGatewayStage(t, {
    behaviour: () => ({ logs: (line) => (line < 3 ? `line ${line}` : undefined) }),
  });
  await tenant.deployed(1n);
  await eventually("a pod", async () => {
    const { body } = await sendRequest({ port }, { path: "/lease/1/1/1/status", authorization: tenant.bearer() });
    return JSON.parse(body).services.cell.ready_replicas === 1;
  });

  const follow = async ({ certificate, authorization }: Shown): Promise<Following> => {
    const open = async (path: string) => {
      const client = await openStream(port, { path, certificate, authorization });
      assert.equal(client.answer?.status, 101, client.answer?.body);
      return client;
    };
    const [logs, events, shell] = await Promise.all([open(paths.logs), open(paths.events), open(paths.shell)]);
    const grpc = openGrpcClient(t, `https://127.0.0.1:${grpcPort}`, { rejectUnauthorized: false, ...certificate });
    const leaseId = { owner: "", dseq: 1n, gseq: 1, oseq: 1, provider: "", bseq: 0 };
    const request = frame(providerLeaseV1ServiceLogsRequest.encode({ leaseId, services: [] }));
    const path = "/akash.provider.lease.v1.LeaseRPC/StreamServiceLogs";
    const call = grpc.open(path, request, authorization === undefined ? {} : { authorization });
    const streams = [logs, events, shell];
    const isOpen = () => !call.stream.closed && streams.every(({ close, isEnded }) => close === undefined && !isEnded);
    // The shell's prompt, and a line by gRPC: all of them are at work.
    await shell.until(() => shell.frames.length > 0);
    await Promise.race([new Promise((resolve) => call.stream.once("data", resolve)), call.ended]);
    assert.ok(isOpen(), "all of them have begun");
    const ended = Promise.all([call.ended, ...streams.map((each) => each.until(() => each.close !== undefined))]);
    return {
      isOpen,
      async ends(by) {
        const [{ status, words }] = await eventually(`the end by ${by}`, () => ended);
        const said = shell.frames.findLast(({ type }) => type === "binary")?.bytes;
        const { exit_code: exitCode, message } = JSON.parse(said?.toString("utf8", 1) ?? "{}");
        return {
          codes: [logs.close?.code, events.close?.code, shell.close?.code, exitCode, status],
          words: [logs.close?.reason, events.close?.reason, message, words],
        };
      },
    };
  };

  const staying = await follow({ authorization: tenant.bearer() });

  let [exp, byToken]: [number, Following | undefined] = [0, undefined];
  // A token that expired before all of them began is followed by one that lasts twice as long.
  for (let tokenS = 2; byToken === undefined; tokenS *= 2) {
    exp = Math.floor(Date.now() / 1_000) + tokenS;
    byToken = await follow({ authorization: tenant.bearer({ exp }) }).catch((thrown) => {
      if (Date.now() < exp * 1_000) throw thrown;
      return undefined;
    });
  }
  const ended = await byToken.ends("a token that has expired");
  check(ended, over, noLongerGood);
  // One that is verified again in its last moment ends by that.
  for (const said of ended.words) assert.match(said ?? "", /: (they have|JWT is) expired/);
  assert.ok(Date.now() >= exp * 1_000, "not before");

  const certificate = await tenant.certificate();
  const byCertificate = await follow({ certificate });
  await tenant.revoke(certificate);
  const revoked = "tls: attempt to use non-existing or revoked certificate";
  check(await byCertificate.ends("a revoked certificate"), over, `${noLongerGood} ${revoked}`);

  assert.ok(staying.isOpen(), "other credentials of the same tenant are as good as before");
  await tenant.close(1n);
  check(await staying.ends("a closed lease"), closed, "the lease is closed");
});
