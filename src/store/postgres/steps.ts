/** The schema changes of a database on PostgreSQL, in order: it begins where SQLite's history had come to, and goes on with the same ones. */
import { sharedSteps } from '../migrations/all.ts'
import type { Step } from '../migrations/migration.ts'

export const steps: readonly Step[] = [
  { name: '0012-postgres', load: async () => (await import('./first-step.ts')).firstStep },
  ...sharedSteps,
]
