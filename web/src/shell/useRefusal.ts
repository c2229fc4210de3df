/** Why the signed-in user may not do something, or null. */
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../api/queries";
import { type Me, type Right, refusalOf } from "../model/rights";

export function useMe(): Me | undefined {
  return useQuery(meQuery).data;
}

export function useRefusal(right: Right): string | null {
  return refusalOf(useMe(), right);
}
