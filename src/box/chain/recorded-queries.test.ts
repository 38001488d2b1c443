/** The same state as a real node had, and the same bytes as it answered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryProvidersResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { QueryTotalSupplyResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { readCoins } from "./coins.ts";
import { createContext } from "./context.ts";
import type { Context, Module } from "./module.ts";
import { auditModule } from "./modules/audit/audit.ts";
import { issue } from "./modules/bank/balances.ts";
import { bankModule } from "./modules/bank/bank.ts";
import { providerModule } from "./modules/provider/provider.ts";
import { providers } from "./modules/provider/providers.ts";
import { createStore } from "./store.ts";

interface Recorded {
  readonly path: string;
  readonly request: string;
  readonly response: { readonly value: string };
}

function assertAnswered(query: string, module: Module, prepare: (context: Context, answer: Uint8Array) => void): void {
  const { path, request, response } = readJsonRecording<Recorded>(`chain/queries/${query}.json`);
  const context = createContext({ chainId: "lab-1", height: 428n, timeNs: 1n }, createStore(), []);
  const expected = Buffer.from(response.value, "base64");
  prepare(context, expected);
  const answer = module.queries[path]?.(context, Buffer.from(request, "base64"));
  assert.equal(Buffer.from(answer ?? []).toString("base64"), response.value);
}

test("the list of providers is answered byte for byte", () => {
  assertAnswered("akash.provider.v1beta4.Query.Providers", providerModule, (context, answer) => {
    for (const provider of QueryProvidersResponse.decode(answer).providers) {
      providers(context).set(provider.owner, provider);
    }
  });
});

test("the total supply is answered byte for byte", () => {
  assertAnswered("cosmos.bank.v1beta1.Query.TotalSupply", bankModule, (context, answer) => {
    issue(context, "someone", readCoins(QueryTotalSupplyResponse.decode(answer).supply));
  });
});

test("an empty list of signed attributes is answered byte for byte", () => {
  assertAnswered("akash.audit.v1.Query.AllProvidersAttributes", auditModule, () => undefined);
});
