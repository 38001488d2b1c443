/** Who may act for whom. Other modules use and change grants only through these functions. */
import type { Grant as WireGrant } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { addressBytes, parseAddress } from "../../../../market/address.ts";
import { formatTime, msToNs, nsToMs } from "../../../../runtime/clock.ts";
import { codespace } from "../../errors.ts";
import { typedEvent } from "../../events.ts";
import type { Context } from "../../module.ts";
import { type Authorization, messageUrlOf } from "./authorizations.ts";

export interface Grant {
  readonly granter: string;
  readonly grantee: string;
  readonly authorization: Authorization;
  /** Without it the grant ends only when it is taken back or used up. */
  readonly expiration: WireGrant["expiration"];
}

export const authzError = codespace("authz", {
  notFound: [2, "authorization not found"],
  invalidExpiration: [3, "expiration time of authorization should be more than current time"],
  granteeIsGranter: [7, "grantee and granter should be different"],
  oneSignerOnly: [9, "authorization can be given to msg with only one signer"],
});

/** Keys are "granter/grantee/message", the addresses in hex: the chain's store sorts by their bytes. */
export function grants(context: Context) {
  return context.store.table<Grant>("authz/grants");
}

export function grantKey(granter: string, grantee = "", msgTypeUrl = ""): string {
  return `${hex(granter)}/${grantee && `${hex(grantee)}/`}${msgTypeUrl}`;
}

function hex(address: string): string {
  return Buffer.from(addressBytes(parseAddress(address))).toString("hex");
}

export function findGrant(context: Context, granter: string, grantee: string, msgTypeUrl: string): Grant | undefined {
  const grant = grants(context).get(grantKey(granter, grantee, msgTypeUrl));
  return grant && !hasExpired(grant, context) ? grant : undefined;
}

/** In the order of the granters' addresses. */
export function grantsTo(context: Context, grantee: string, msgTypeUrl: string): Grant[] {
  const all = [...grants(context).entries()].map(([, grant]) => grant);
  const theirs = all.filter((grant) => grant.grantee === grantee && messageUrlOf(grant.authorization) === msgTypeUrl);
  return theirs.filter((grant) => !hasExpired(grant, context));
}

export function saveGrant(context: Context, grant: Grant): void {
  const { granter, grantee, authorization, expiration } = grant;
  if (hasExpired(grant, context)) {
    const [now, got] = [nsToMs(context.timeNs), expiration?.getTime() ?? 0].map(goSeconds);
    throw authzError("invalidExpiration", `expiration must be after the current block time (${now}), got ${got}`);
  }
  grants(context).set(grantKey(granter, grantee, messageUrlOf(authorization)), grant);
  emitGrantEvent(context, "EventGrant", grant);
}

export function deleteGrant(context: Context, granter: string, grantee: string, msgTypeUrl: string): void {
  const key = grantKey(granter, grantee, msgTypeUrl);
  const grant = grants(context).get(key);
  if (!grant) throw authzError("notFound", `failed to delete grant with key ${key}`);
  grants(context).delete(key);
  emitGrantEvent(context, "EventRevoke", grant);
}

export function forgetExpiredGrants(context: Context): void {
  const expired = [...grants(context).entries()].filter(([, grant]) => hasExpired(grant, context));
  for (const [key] of expired) grants(context).delete(key);
}

function hasExpired({ expiration }: Grant, { timeNs }: Context): boolean {
  return expiration !== undefined && msToNs(expiration.getTime()) <= timeNs;
}

function emitGrantEvent(context: Context, event: string, { granter, grantee, authorization }: Grant): void {
  const fields = { msg_type_url: messageUrlOf(authorization), granter, grantee };
  context.emit(typedEvent(`cosmos.authz.v1beta1.${event}`, fields));
}

/** "2026-11-15T08:23:55Z", as Go prints a time to the second. */
function goSeconds(ms: number): string {
  return `${formatTime(ms).slice(0, 19)}Z`;
}
