/** What the API and the pages read about a member's usage. */
import type { Services } from './services.ts'

const dayMs = 86_400_000
/** The span of a key's usage. */
const keyUsageDays = 30

interface KeyUsage {
  readonly turns: number
  readonly credits: number
}

/** The usage of each API key in the last 30 days, by the key's id; keys without any are missing. */
export async function readKeyUsage(
  account: string,
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<ReadonlyMap<string, KeyUsage>> {
  const usage = new Map<string, KeyUsage>()
  for (const { credential, turns, credits } of await store.usageSums.listSince(account, clock.now() - keyUsageDays * dayMs)) {
    const { turns: earlierTurns, credits: earlierCredits } = usage.get(credential) ?? unusedKey
    usage.set(credential, { turns: earlierTurns + turns, credits: earlierCredits + credits })
  }
  return usage
}

export const unusedKey: KeyUsage = { turns: 0, credits: 0 }
