/** The name of a sign-in provider, or its id where the configuration has none of this id any more. */
import type { Services } from '../../services/services.ts'

export function nameSignInProvider({ config }: Pick<Services, 'config'>, id: string): string {
  const { providers } = config.signIn
  return (Object.hasOwn(providers, id) ? providers[id]?.name : undefined) ?? id
}
