/** The module that moves money between accounts. */
import {
  Bank_QueryParamsResponse,
  MsgSend,
  MsgSendResponse,
  QueryAllBalancesRequest,
  QueryAllBalancesResponse,
  QueryBalanceRequest,
  QueryBalanceResponse,
  QuerySpendableBalanceByDenomRequest,
  QuerySpendableBalanceByDenomResponse,
  QuerySpendableBalancesRequest,
  QuerySpendableBalancesResponse,
  QuerySupplyOfRequest,
  QuerySupplyOfResponse,
  QueryTotalSupplyRequest,
  QueryTotalSupplyResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../../../market/address.ts";
import { formatCoins } from "../../../../market/coin.ts";
import { areValidCoins, readCoins, writeCoin, writeCoins } from "../../coins.ts";
import type { Context, Module } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { askedAddress, checkedAddress, sdkRefusal } from "../../refusals.ts";
import { balanceOf, balanceTable, mayReceive, send, supplyTable } from "./balances.ts";

export const bankModule: Module = {
  name: "bank",
  messages: {
    "/cosmos.bank.v1beta1.MsgSend": {
      signers(bytes) {
        const { fromAddress, amount } = MsgSend.decode(bytes);
        readCoins(amount);
        return [fromAddress];
      },
      handle(context, bytes) {
        const { fromAddress, toAddress, amount } = MsgSend.decode(bytes);
        const coins = readCoins(amount);
        if (!areValidCoins(coins)) throw sdkRefusal("invalidCoins", formatCoins(coins));
        const to = checkedAddress(toAddress, (why) => sdkRefusal("invalidAddress", `invalid to address: ${why}`));
        if (!mayReceive(to)) throw sdkRefusal("unauthorized", `${to} is not allowed to receive funds`);
        send(context, parseAddress(fromAddress), to, coins);
        return MsgSendResponse.encode({}).finish();
      },
    },
  },
  queries: {
    "/cosmos.bank.v1beta1.Query/Balance"(context, bytes) {
      const { address, denom } = QueryBalanceRequest.decode(bytes);
      return QueryBalanceResponse.encode({ balance: balance(context, address, denom) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/AllBalances"(context, bytes) {
      const { address, pagination } = QueryAllBalancesRequest.decode(bytes);
      const page = paginate(balanceTable(context), pagination, { prefix: `${askedAddress(address)}/` });
      const found = { balances: writeCoins(page.items), pagination: page.pagination };
      return QueryAllBalancesResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/SpendableBalances"(context, bytes) {
      const { address, pagination } = QuerySpendableBalancesRequest.decode(bytes);
      const page = paginate(balanceTable(context), pagination, { prefix: `${askedAddress(address)}/` });
      const found = { balances: writeCoins(page.items), pagination: page.pagination };
      return QuerySpendableBalancesResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/SpendableBalanceByDenom"(context, bytes) {
      const { address, denom } = QuerySpendableBalanceByDenomRequest.decode(bytes);
      return QuerySpendableBalanceByDenomResponse.encode({ balance: balance(context, address, denom) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/TotalSupply"(context, bytes) {
      const page = paginate(supplyTable(context), QueryTotalSupplyRequest.decode(bytes).pagination);
      const found = { supply: writeCoins(page.items), pagination: page.pagination };
      return QueryTotalSupplyResponse.encode(found).finish();
    },
    "/cosmos.bank.v1beta1.Query/SupplyOf"(context, bytes) {
      const { denom } = QuerySupplyOfRequest.decode(bytes);
      const coin = supplyTable(context).get(denom) ?? { denom, amount: 0n };
      return QuerySupplyOfResponse.encode({ amount: writeCoin(coin) }).finish();
    },
    "/cosmos.bank.v1beta1.Query/Params"() {
      const params = { sendEnabled: [], defaultSendEnabled: true };
      return Bank_QueryParamsResponse.encode({ params }).finish();
    },
  },
};

function balance(context: Context, address: string, denom: string) {
  return writeCoin({ denom, amount: balanceOf(context, askedAddress(address), denom) });
}
