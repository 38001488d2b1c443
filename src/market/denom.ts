/** What orders are priced in. A micro-unit of each is a millionth of the token. */

/** The network's own token; its price in dollars moves. */
export const uakt = "uakt";
/** The network's dollar. */
export const uact = "uact";
/** The dollar that came over the bridge: on the main network and on the sandbox. */
export const bridgedDollars: readonly string[] = [
  "ibc/170C677610AC31DF0904FFE09CD3B5C657492170E7E52372E48756B71E56F2F1",
  "ibc/12C6A0C374171B595A0A9E18B83FA09D295FB1F2D8C6DAA3AC28683471752D84",
];

/** Whether a token of it is worth a dollar. */
export function isDollar(denom: string): boolean {
  return denom === uact || bridgedDollars.includes(denom);
}
