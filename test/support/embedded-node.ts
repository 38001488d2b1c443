/** An embedded node with the fake application, for one test. */
import { createNode, type Node, type NodeOptions } from "../../src/box/chain/node/node.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createFakeApp, type FakeApp } from "./fake-app.ts";
import type { Owner } from "./owner.ts";

export interface TestNode extends Node {
  readonly app: FakeApp;
  /** The result of a method over JSON-RPC; throws the error's data, or its message where it has none. */
  call<T = Answer>(method: string, params?: Record<string, unknown>): Promise<T>;
  /** Whatever the node answers to a body. */
  post(body: string): Promise<{ status: number; text: string }>;
}

/** Answers are looked into, not typed: their shape is what is being tested. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what the tests are about
export type Answer = any;

export async function startNode(owner: Owner, options: Partial<NodeOptions> = {}): Promise<TestNode> {
  const app = (options.app as FakeApp | undefined) ?? createFakeApp();
  const node = createNode({ clock: realClock, log: silentLog, indexMs: 0, ...options, app });
  owner.after(() => node.stop());
  await node.start();

  async function post(body: string): Promise<{ status: number; text: string }> {
    const response = await fetch(node.rpcUrl, { method: "POST", body });
    return { status: response.status, text: await response.text() };
  }

  return Object.assign(Object.create(node) as Node, {
    app,
    post,
    async call<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
      const { text } = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      const { result, error } = JSON.parse(text);
      if (error) throw new Error(error.data ?? error.message);
      return result;
    },
  });
}

export function words(text: string): Uint8Array {
  return Buffer.from(text);
}

export function wordsBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}
