import assert from "node:assert/strict";
import { test } from "node:test";
import { openStream, serveStreams, upgradeHeaders } from "../support/stages/stream-stage.ts";
import { createComparison, readGatewayVectors, requestOf } from "./recorded-gateway.ts";

test("WebSocket upgrade requests → the recorded answers", async (t) => {
  const { port } = await serveStreams(t, async () => ({ code: 1000 }));
  const vectors = readGatewayVectors("logs.json").vectors.filter(({ name }) => name.startsWith("upgrade: "));
  assert(vectors.length >= 9, `${vectors.length} were recorded`);
  const { compare } = createComparison([], (recorded) => recorded);
  for (const vector of vectors) {
    const { headers = [], ...request } = requestOf(vector, (recorded) => recorded);
    const upgrade = vector.request.upgrade ? upgradeHeaders : [];
    const { answer, socket } = await openStream(port, { ...request, headers: [...upgrade, ...headers] });
    assert(answer, vector.name);
    compare(vector, answer);
    socket.destroy();
  }
});
