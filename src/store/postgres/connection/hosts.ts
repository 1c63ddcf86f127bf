/** The servers of one database, from its URL: `postgres://user:password@db1,db2:5433/svc?sslmode=verify-full`. */
import { OperatorError } from '../../../system/operator-error.ts'

const urlPattern = /^(?<scheme>postgres(?:ql)?:\/\/)(?<credentials>[^@/?#]*@)?(?<hosts>[^/?#@]+)(?<rest>\/[^/?#]+(?:\?[^#]*)?)$/

/** One URL for each host. Which one accepts writes is determined by connecting: a failover changes it. */
export function parseHosts(url: string): readonly string[] {
  const { scheme, credentials = '', hosts = '', rest } = urlPattern.exec(url)?.groups ?? {}
  const urls = hosts.split(',').map((host) => `${scheme}${credentials}${host}${rest}`)
  // The address is not repeated in the message, because it contains a password.
  if (scheme === undefined || !urls.every((each) => URL.canParse(each)))
    throw new OperatorError('The address of the store must be like postgres://user:password@host,other-host:5433/database.')
  return urls.map(toStrictTls)
}

/** Words of libpq for TLS. Those that check less are treated as `verify-full`, as the driver does, which prints a warning for each. */
const sslModes: Readonly<Record<string, string>> = {
  disable: 'disable',
  'no-verify': 'no-verify',
  prefer: 'verify-full',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full',
}

function toStrictTls(url: string): string {
  return url.replace(/(?<=[?&]sslmode=)[^&]*/, (word) => {
    const mode = sslModes[word]
    if (mode === undefined)
      throw new OperatorError(
        `The address of the store has sslmode=${word}. Use sslmode=verify-full, with sslrootcert=FILE for a CA of your own, or sslmode=disable.`,
      )
    return mode
  })
}
