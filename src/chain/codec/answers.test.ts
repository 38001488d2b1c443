/** What a real node answered, through our codecs and back. Parameters of two of its modules, bme and oracle, are none of our business. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  QueryCertificatesResponse,
  QueryAccountsResponse as QueryEscrowAccountsResponse,
  QueryPaymentsResponse,
  QueryProvidersResponse as QuerySignedAttributesResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  QueryParamsResponse as QueryDeploymentParamsResponse,
  QueryProvidersResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { QueryAccountsResponse, QueryTotalSupplyResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { type Codec, generated } from "../../runtime/protobuf.ts";
import {
  queryBidsResponse,
  queryDeploymentsResponse,
  queryLeasesResponse,
  queryMarketParamsResponse,
  queryOrdersResponse,
} from "./wire-messages.ts";

const answers: readonly [string, Codec<never> | Codec<object>][] = [
  ["akash.audit.v1.Query.AllProvidersAttributes", generated(QuerySignedAttributesResponse)],
  ["akash.cert.v1.Query.Certificates", generated(QueryCertificatesResponse)],
  ["akash.deployment.v1beta4.Query.Deployments", queryDeploymentsResponse],
  ["akash.deployment.v1beta4.Query.Params", generated(QueryDeploymentParamsResponse)],
  ["akash.escrow.v1.Query.Accounts", generated(QueryEscrowAccountsResponse)],
  ["akash.escrow.v1.Query.Payments", generated(QueryPaymentsResponse)],
  ["akash.market.v1beta5.Query.Orders", queryOrdersResponse],
  ["akash.market.v1beta5.Query.Bids", queryBidsResponse],
  ["akash.market.v1beta5.Query.Leases", queryLeasesResponse],
  ["akash.market.v1beta5.Query.Params", queryMarketParamsResponse],
  ["akash.provider.v1beta4.Query.Providers", generated(QueryProvidersResponse)],
  ["cosmos.auth.v1beta1.Query.Accounts", generated(QueryAccountsResponse)],
  ["cosmos.bank.v1beta1.Query.TotalSupply", generated(QueryTotalSupplyResponse)],
];

for (const [query, codec] of answers) {
  test(`the real node's answer to ${query} decodes and encodes to the same bytes`, () => {
    const { response } = readJsonRecording<{ response: { value: string } }>(`chain/queries/${query}.json`);
    const bytes = Buffer.from(response.value, "base64");
    const { encode, decode } = codec as Codec<unknown>;
    assert.deepEqual(Buffer.from(encode(decode(bytes))), bytes);
  });
}
