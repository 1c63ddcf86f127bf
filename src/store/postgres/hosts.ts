/** The servers of one database, as its URL names them: `postgres://user:password@db1,db2:5433/svc?sslmode=verify-full`. */
import { Unusable } from '../../system/unusable.ts'

const form = /^(?<scheme>postgres(?:ql)?:\/\/)(?<who>[^@/?#]*@)?(?<hosts>[^/?#@]+)(?<rest>\/[^/?#]+(?:\?[^#]*)?)$/

/** One URL for each of them. Which one takes writes is found out by asking: after a failover it is another. */
export function hostsOf(url: string): readonly string[] {
  const { scheme, who = '', hosts = '', rest } = form.exec(url)?.groups ?? {}
  const urls = hosts.split(',').map((host) => `${scheme}${who}${host}${rest}`)
  // The address itself is not repeated: there is a password in it.
  if (scheme === undefined || !urls.every((each) => URL.canParse(each)))
    throw new Unusable('The address of the store must be like postgres://user:password@host,other-host:5433/database.')
  return urls
}
