/** `/address`: who we are on the chain. */
import type { Address } from "../../market/address.ts";
import { json } from "./answer.ts";
import type { Route } from "./route.ts";

export function addressRoutes(provider: Address): Route[] {
  const address = json(JSON.stringify({ address: provider }));
  return [
    {
      ...{ method: "GET", path: "/address", access: "public" },
      about: "The provider's address on the chain.",
      answers: { 200: "The address." },
      handle: () => address,
    },
  ];
}
