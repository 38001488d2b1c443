import assert from "node:assert/strict";
import { connect, constants } from "node:http2";
import { test } from "node:test";
import { createChainNodeSDK } from "@akashnetwork/chain-sdk";
import { QueryOrdersResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  BroadcastMode,
  BroadcastTxRequest,
  BroadcastTxResponse,
  GetBlockByHeightRequest,
  GetBlockByHeightResponse,
  GetLatestBlockResponse,
  GetNodeInfoResponse,
  GetSyncingResponse,
  GetTxRequest,
  GetTxResponse,
  GetTxsEventRequest,
  GetTxsEventResponse,
  TxRaw,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { Code, ConnectError } from "@connectrpc/connect";
import { startNode, words } from "../../../../test/support/embedded-node.ts";
import { createFakeApp } from "../../../../test/support/fake-app.ts";
import { frame, openGrpcClient } from "../../../../test/support/grpc-client.ts";
import { chainGrpcRequestBytes, chainGrpcStreams } from "./grpc.ts";

test("a query is answered with the application's bytes, OK in the trailers and the height in the headers", async (t) => {
  const node = await startNode(t);
  node.step();
  const { call } = openGrpcClient(t, node.grpcUrl);
  const reply = await call("/test.Query/Echo", Buffer.from([10, 11]));
  assert.deepEqual(reply.message, Buffer.from([10, 11]));
  assert.equal(reply.trailers["grpc-status"], "0");
  assert.equal(reply.headers["content-type"], "application/grpc");
  assert.equal(reply.headers["x-cosmos-block-height"], "1");
  assert.equal((await call("/test.Query/Echo")).message.length, 0);
});

test("rejections become the status they were, with their words", async (t) => {
  const node = await startNode(t);
  const { call } = openGrpcClient(t, node.grpcUrl);
  const missing = await call("/test.Query/Missing");
  assert.equal(missing.status, 5);
  assert.equal(missing.headers["grpc-message"], "order not found: %C3%BC 100%25");
  const wrong = await call("/test.Query/Wrong");
  assert.deepEqual([wrong.status, wrong.headers["grpc-message"]], [3, "empty request"]);
  const broken = await call("/test.Query/Broken");
  assert.deepEqual([broken.status, broken.headers["grpc-message"]], [13, "a query lost its footing"]);
  const service = await call("/test.Other/Echo");
  assert.deepEqual([service.status, service.headers["grpc-message"]], [12, "unknown service test.Other"]);
  const method = await call("/test.Query/Nothing");
  const words = "unknown method Nothing for service test.Query";
  assert.deepEqual([method.status, method.headers["grpc-message"]], [12, words]);
});

test("a height whose state is not kept is rejected, and so is one that is none", async (t) => {
  const node = await startNode(t);
  node.step();
  node.step();
  const { call } = openGrpcClient(t, node.grpcUrl);
  const at = async (height: string) =>
    (await call("/test.Query/Echo", new Uint8Array(), { "x-cosmos-block-height": height })).status;
  assert.equal(await at("2"), 0);
  assert.equal(await at("1"), 5);
  assert.equal(await at("3"), 2);
  assert.equal(await at("two"), 3);
});

test("what is not a call is rejected, and the connection goes on", async (t) => {
  const node = await startNode(t);
  // Node's client otherwise rejects to hear an answer while it still has so much to send.
  const { send, call } = openGrpcClient(t, node.grpcUrl, { maxSessionMemory: 64 });
  const path = "/test.Query/Echo";
  assert.equal((await send(path, frame(words("x")), { ":method": "PUT" })).headers[":status"], 405);
  assert.equal((await send(path, frame(words("x")), { "content-type": "text/html" })).headers[":status"], 415);
  assert.equal((await send(path, Buffer.from([0, 0]))).status, 13);
  assert.equal((await send(path, frame(words("x"), 1), { "grpc-encoding": "gzip" })).status, 13);
  const compressed = await send(path, frame(words("x"), 1), { "grpc-encoding": "snappy" });
  assert.equal(compressed.status, 12);
  assert.match(String(compressed.headers["grpc-message"]), /Decompressor is not installed .* "snappy"/);
  assert.equal((await call(path, Buffer.alloc(chainGrpcRequestBytes + 1))).status, 8);
  assert.equal((await call(path, Buffer.alloc(chainGrpcRequestBytes))).status, 0);
});

test("rejected calls leave room for others on their connection", async (t) => {
  const node = await startNode(t);
  const { send, call } = openGrpcClient(t, node.grpcUrl);
  for (let calls = 0; calls < 2 * chainGrpcStreams; calls++) {
    assert.equal((await call("/test.Other/Echo", words("x"))).status, 12);
    assert.equal((await send("/test.Query/Echo", frame(words("x")), { ":method": "PUT" })).headers[":status"], 405);
  }
  assert.equal((await call("/test.Query/Echo")).status, 0);
});

test("a client that resets its call or its connection does not affect others", async (t) => {
  const node = await startNode(t);
  const session = connect(node.grpcUrl);
  const stream = session.request({
    ":method": "POST",
    ":path": "/test.Query/Echo",
    "content-type": "application/grpc",
  });
  const reset = new Promise((resolve) => stream.once("close", resolve));
  stream.on("error", () => undefined);
  stream.write(Buffer.from([0, 0, 0]));
  await new Promise((resolve) => session.once("connect", resolve));
  stream.close(constants.NGHTTP2_CANCEL);
  await reset;
  session.destroy();
  assert.equal((await openGrpcClient(t, node.grpcUrl).call("/test.Query/Echo")).status, 0);
});

test("transactions are broadcast and found again over gRPC", async (t) => {
  const node = await startNode(t);
  const { call } = openGrpcClient(t, node.grpcUrl);
  const service = "/cosmos.tx.v1beta1.Service";
  const txBytes = TxRaw.encode({ bodyBytes: words("\n\0"), authInfoBytes: words(""), signatures: [] }).finish();
  const broadcast = async (mode: BroadcastMode, tx: Uint8Array = txBytes) => {
    const request = BroadcastTxRequest.encode({ txBytes: tx, mode }).finish();
    const reply = await call(`${service}/BroadcastTx`, request);
    return { status: reply.status, tx: BroadcastTxResponse.decode(reply.message).txResponse };
  };
  const sent = (await broadcast(BroadcastMode.BROADCAST_MODE_SYNC)).tx;
  assert.equal(sent?.code, 0);
  const again = (await broadcast(BroadcastMode.BROADCAST_MODE_ASYNC)).tx;
  assert.deepEqual([again?.code, again?.codespace], [0, ""], "BROADCAST_MODE_ASYNC does not wait for CheckTx");
  const known = (await broadcast(BroadcastMode.BROADCAST_MODE_SYNC)).tx;
  assert.deepEqual([known?.code, known?.codespace], [19, "sdk"]);
  assert.equal((await broadcast(BroadcastMode.BROADCAST_MODE_SYNC, words("bad one"))).tx?.code, 5);
  assert.equal((await broadcast(BroadcastMode.BROADCAST_MODE_BLOCK)).status, 2);
  assert.equal((await broadcast(BroadcastMode.BROADCAST_MODE_SYNC, words(""))).status, 3);

  const getTx = GetTxRequest.encode({ hash: sent?.txhash ?? "" }).finish();
  const before = await call(`${service}/GetTx`, getTx);
  assert.deepEqual([before.status, before.headers["grpc-message"]], [5, `tx not found: ${sent?.txhash}`]);
  node.step();
  const { tx, txResponse } = GetTxResponse.decode((await call(`${service}/GetTx`, getTx)).message);
  assert.deepEqual(tx?.signatures, []);
  assert.equal(txResponse?.height.toString(), "1");
  assert.equal(txResponse?.txhash, sent?.txhash);
  assert.equal(txResponse?.gasUsed.toString(), "100000");
  assert.equal(txResponse?.events[0]?.attributes[0]?.value, "/test.MsgDo");
  assert.deepEqual(Buffer.from(txResponse?.tx?.value ?? []), Buffer.from(txBytes));

  const search = (query: string) =>
    call(`${service}/GetTxsEvent`, GetTxsEventRequest.encode(GetTxsEventRequest.fromPartial({ query })).finish());
  const found = GetTxsEventResponse.decode((await search("tx.height=1")).message);
  assert.equal(found.total.toString(), "1");
  assert.equal(found.txResponses[0]?.txhash, sent?.txhash);
  assert.equal((await search("nonsense")).status, 13);
});

test("the node returns its status and blocks over gRPC", async (t) => {
  const node = await startNode(t);
  node.step();
  node.step();
  const { call } = openGrpcClient(t, node.grpcUrl);
  const service = "/cosmos.base.tendermint.v1beta1.Service";
  const info = GetNodeInfoResponse.decode((await call(`${service}/GetNodeInfo`)).message);
  assert.equal(info.defaultNodeInfo?.network, "test-1");
  assert.equal(info.applicationVersion?.appName, "akash");
  assert.equal(GetSyncingResponse.decode((await call(`${service}/GetSyncing`)).message).syncing, false);
  const latest = GetLatestBlockResponse.decode((await call(`${service}/GetLatestBlock`)).message);
  const { block_id, block } = await node.call("block");
  assert.equal(
    Buffer.from(latest.blockId?.hash ?? [])
      .toString("hex")
      .toUpperCase(),
    block_id.hash,
  );
  assert.equal(latest.block?.header?.time?.getTime(), Date.parse(block.header.time));
  assert.match(latest.sdkBlock?.header?.proposerAddress ?? "", /^akashvalcons1/);
  const byHeight = (height: number) =>
    call(
      `${service}/GetBlockByHeight`,
      GetBlockByHeightRequest.encode(GetBlockByHeightRequest.fromPartial({ height })).finish(),
    );
  const first = GetBlockByHeightResponse.decode((await byHeight(1)).message);
  assert.equal(first.sdkBlock?.header?.height.toString(), "1");
  const future = await byHeight(9);
  assert.deepEqual(
    [future.status, future.headers["grpc-message"]],
    [3, "requested block height is bigger then the chain length"],
  );
});

test("the network's own client library queries the node over gRPC", async (t) => {
  const plain = createFakeApp();
  const path = "/akash.market.v1beta5.Query/Orders";
  const orders = QueryOrdersResponse.fromPartial({ orders: [{ id: { owner: "akash1owner", dseq: 5 } }] });
  const app = Object.assign(Object.create(plain) as typeof plain, {
    queryPaths: [path],
    query: (queried: string, request: Uint8Array) =>
      queried === path
        ? { code: 0, codespace: "", log: "", value: QueryOrdersResponse.encode(orders).finish(), height: plain.height }
        : plain.query(queried, request),
  });
  const node = await startNode(t, { app });
  node.step();
  const sdk = createChainNodeSDK({ query: { baseUrl: node.grpcUrl } });
  const answer = await sdk.akash.market.v1beta5.getOrders({});
  assert.equal(answer.orders[0]?.id?.owner, "akash1owner");
  assert.equal(answer.orders[0]?.id?.dseq.toString(), "5");
  const latest = await sdk.cosmos.base.tendermint.v1beta1.getLatestBlock({});
  assert.equal(latest.sdkBlock?.header?.chainId, "test-1");
  await assert.rejects(
    sdk.akash.market.v1beta5.getBids({}),
    (thrown: Error) => ConnectError.from(thrown.cause).code === Code.Unimplemented,
  );
});
