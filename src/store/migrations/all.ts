/** Every schema change there ever was, in order. New ones are added to those that are shared, at the end; released ones never change. */
import type { Step } from './migration.ts'

/** How databases on SQLite came to be what one on PostgreSQL begins with. */
const history: readonly Step[] = [
  { name: '0001-accounts', load: async () => (await import('./0001-accounts.ts')).accounts },
  { name: '0002-ledger', load: async () => (await import('./0002-ledger.ts')).ledger },
  { name: '0003-membership', load: async () => (await import('./0003-membership.ts')).membership },
  { name: '0004-images', load: async () => (await import('./0004-images.ts')).images },
  { name: '0005-turn-links', load: async () => (await import('./0005-turn-links.ts')).turnLinks },
  { name: '0008-contradicted-usage', load: async () => (await import('./0008-contradicted-usage.ts')).contradictedUsage },
  { name: '0009-access', load: async () => (await import('./0009-access.ts')).access },
  { name: '0010-persons', load: async () => (await import('./0010-persons.ts')).persons },
  { name: '0011-apps', load: async () => (await import('./0011-apps.ts')).apps },
  { name: '0012-written-purses', load: async () => (await import('./0012-written-purses.ts')).writtenPurses },
]

/** From there on the same steps for both: what a database calls otherwise, its dialect says. */
export const sharedSteps: readonly Step[] = []

export const migrations: readonly Step[] = [...history, ...sharedSteps]
