/** The module of grants: giving them, taking them back, using them, looking them up. */
import { MsgAccountDeposit, Scope as Scopes } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../../../market/address.ts";
import type { AbciEvent } from "../../abci.ts";
import { readCoin } from "../../coins.ts";
import { checkedAddress, queriedAddress, sdkError } from "../../errors.ts";
import { withAttribute } from "../../events.ts";
import { ChainError, type Context, type Module, messageEntry } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { decodeMessage, type MessageEntries, type TxMessage } from "../../transaction.ts";
import { ensureAccount } from "../auth/accounts.ts";
import { escrowError } from "../escrow/errors.ts";
import {
  checkKind,
  type DepositLimits,
  messageUrlOf,
  readAuthorization,
  spend,
  writeAuthorization,
} from "./authorizations.ts";
import {
  authzError,
  deleteGrant,
  findGrant,
  forgetExpiredGrants,
  type Grant,
  grantKey,
  grants,
  saveGrant,
} from "./grants.ts";

/** The SDK unpacks no message that lies deeper than this. */
const deepest = 10;

/** `entries` are the messages of all modules, this one's among them. */
export function authzModule(entries: () => MessageEntries): Module {
  let depth = 0;

  /** A message inside may hold messages in its turn. */
  function innerMessages({ msgs }: cosmos.MsgExec): TxMessage[] {
    depth += 1;
    try {
      if (depth > deepest) throw new Error("recursion limit exceeded");
      return msgs.map(({ typeUrl, value }) => decodeMessage(typeUrl, value, entries()));
    } finally {
      depth -= 1;
    }
  }

  return {
    messages: {
      "/cosmos.authz.v1beta1.MsgGrant": messageEntry(cosmos.MsgGrant, {
        signer({ granter, grant }) {
          checkKind(grant?.authorization);
          return granter;
        },
        read: (wire) => wire,
        handle: (context, message) => give(context, message, entries()),
      }),
      "/cosmos.authz.v1beta1.MsgRevoke": messageEntry(cosmos.MsgRevoke, {
        signer: ({ granter }) => granter,
        read: (wire) => wire,
        handle(context, message) {
          const { granter, grantee } = partiesOf(message);
          if (message.msgTypeUrl === "") throw sdkError("invalidRequest", "missing msg method name");
          deleteGrant(context, granter, grantee, message.msgTypeUrl);
        },
      }),
      "/cosmos.authz.v1beta1.MsgExec": {
        signers(bytes) {
          const message = cosmos.MsgExec.decode(bytes);
          innerMessages(message);
          return [message.grantee];
        },
        handle(context, bytes) {
          const message = cosmos.MsgExec.decode(bytes);
          const results = execute(context, parseAddress(message.grantee), innerMessages(message));
          return cosmos.MsgExecResponse.encode({ results }).finish();
        },
      },
    },
    queries: {
      "/cosmos.authz.v1beta1.Query/Grants"(context, bytes) {
        const { granter, grantee, msgTypeUrl, pagination } = cosmos.QueryGrantsRequest.decode(bytes);
        const prefix = grantKey(queriedAddress(granter), queriedAddress(grantee));
        if (msgTypeUrl !== "") {
          const grant = grants(context).get(prefix + msgTypeUrl);
          const words = `authorization not found for ${msgTypeUrl} type: authorization not found`;
          if (!grant) throw sdkError("unknownRequest", words);
          return cosmos.QueryGrantsResponse.encode({ grants: [writeGrant(grant)], pagination: undefined }).finish();
        }
        const page = paginate(grants(context), pagination, { prefix });
        return cosmos.QueryGrantsResponse.encode({ ...page, grants: page.items.map(writeGrant) }).finish();
      },
      "/cosmos.authz.v1beta1.Query/GranterGrants"(context, bytes) {
        const { granter, pagination } = cosmos.QueryGranterGrantsRequest.decode(bytes);
        const page = paginate(grants(context), pagination, { prefix: grantKey(queriedAddress(granter)) });
        return cosmos.QueryGranterGrantsResponse.encode({ ...page, grants: page.items.map(writeNamedGrant) }).finish();
      },
      "/cosmos.authz.v1beta1.Query/GranteeGrants"(context, bytes) {
        const { grantee, pagination } = cosmos.QueryGranteeGrantsRequest.decode(bytes);
        const address = queriedAddress(grantee);
        const page = paginate(grants(context), pagination, { where: (grant) => grant.grantee === address });
        return cosmos.QueryGranteeGrantsResponse.encode({ ...page, grants: page.items.map(writeNamedGrant) }).finish();
      },
    },
    endBlock: forgetExpiredGrants,
  };
}

function give(context: Context, message: cosmos.MsgGrant, entries: MessageEntries): void {
  const { granter, grantee } = partiesOf(message);
  const { grant } = message;
  if (!grant?.authorization) throw sdkError("invalidType", "authorization is nil");
  const authorization = readAuthorization(grant.authorization);
  ensureAccount(context, grantee);
  const msgTypeUrl = messageUrlOf(authorization);
  if (!entries.has(msgTypeUrl)) throw sdkError("invalidType", `${msgTypeUrl} doesn't exist.`);
  saveGrant(context, { granter, grantee, authorization, expiration: grant.expiration });
}

/** The grantee executes messages that their signers have authorized. */
function execute(context: Context, grantee: string, messages: readonly TxMessage[]): Uint8Array[] {
  if (messages.length === 0) throw sdkError("invalidRequest", "messages cannot be empty");
  for (const [index, { entry, value }] of messages.entries()) wrapped(`msg ${index}`, () => entry.validate?.(value));
  return messages.map((message, index) => {
    const [granter = "", ...others] = message.signers;
    if (others.length > 0) throw authzError("oneSignerOnly");
    if (granter !== grantee) useGrant(context, granter, grantee, message);
    const events: AbciEvent[] = [];
    const own: Context = { ...context, emit: (event) => events.push(event) };
    // The chain prints the whole message here, as Go does; its kind must do.
    const failure = `failed to execute message; message ${message.typeUrl}`;
    const result = wrapped(failure, () => message.entry.handle(own, message.value));
    for (const event of events) context.emit(withAttribute(event, "authz_msg_index", `${index}`));
    return result;
  });
}

function useGrant(context: Context, granter: string, grantee: string, { typeUrl, value }: TxMessage): void {
  const grant = findGrant(context, granter, grantee, typeUrl);
  if (!grant) {
    const whose = `granter: ${granter}, grantee: ${grantee} & msgType: ${typeUrl} `;
    throw authzError("notFound", `failed to get grant with given ${whose}`);
  }
  const { authorization } = grant;
  if (authorization.kind === "generic") return;
  const left = spendAll(authorization, MsgAccountDeposit.decode(value));
  if (left.limits.length === 0) deleteGrant(context, granter, grantee, typeUrl);
  // The chain saves it without an event, unlike a grant that is spent by the grantee's own deposit.
  else grants(context).set(grantKey(granter, grantee, typeUrl), { ...grant, authorization: left });
}

function spendAll(granted: DepositLimits, { id, deposit }: MsgAccountDeposit): DepositLimits {
  const scope = granted.scopes.find((each) => Scopes[each] === id?.scope);
  if (!scope) throw escrowError("unauthorizedDepositScope");
  const coin = readCoin(deposit?.amount ?? { denom: "", amount: "0" });
  if (!granted.limits.some(({ denom }) => denom === coin.denom)) throw sdkError("unauthorized");
  const { spent, left } = spend(granted, coin);
  if (spent < coin.amount) throw sdkError("insufficientFunds");
  return left;
}

/** The chain says in front of a rejection where it came from; code and codespace stay. */
function wrapped<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    // A panic and the end of the gas are no rejections of a message: they end the transaction wherever they happen.
    if (!(error instanceof ChainError) || error.constructor !== ChainError) throw error;
    throw new ChainError(error.codespace, error.code, `${where}: ${error.message}`);
  }
}

/** The granter has signed, so that is an address. */
function partiesOf({ granter, grantee }: { granter: string; grantee: string }): { granter: string; grantee: string } {
  if (grantee.toLowerCase() === granter.toLowerCase()) throw authzError("granteeIsGranter");
  const invalidGrantee = (why: string) => sdkError("invalidAddress", `invalid grantee address: ${why}`);
  return { granter: parseAddress(granter), grantee: checkedAddress(grantee, invalidGrantee) };
}

function writeGrant({ authorization, expiration }: Grant) {
  return { authorization: writeAuthorization(authorization), expiration };
}

function writeNamedGrant(grant: Grant) {
  return { granter: grant.granter, grantee: grant.grantee, ...writeGrant(grant) };
}
