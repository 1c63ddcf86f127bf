/** Ends the session at the service, then deletes it here. If the service cannot be reached nothing changes, so that the user can retry. */
import type { signOut } from '../../../api/membership/sign-in.ts'
import type { CommandHandler } from '../../command.ts'
import { CredentialStore } from '../../user-config/credentials.ts'
import { CommandFailure } from '../../failure.ts'
import { callEndpoint } from '../client/service-client.ts'
import { readSite } from '../client/site.ts'

export const run: CommandHandler = async (context, _args, options) => {
  const site = readSite(context)
  const store = new CredentialStore(context.environment)
  const storedSession = store.read(site.siteOrigin)
  if (storedSession === undefined) {
    context.printResult({ site: site.siteOrigin, ended: false }, () =>
      context.localize({
        en: `There is no session for ${site.siteOrigin} here.`,
        zh: `本机没有 ${site.siteOrigin} 的登录状态。`,
      }),
    )
    return
  }
  const atServer = !options.getFlag('local')
  if (atServer) {
    try {
      await callEndpoint<typeof signOut>(context, site, {
        method: 'POST',
        path: '/api/membership/auth/sign-out',
        body: {},
        credential: { kind: 'session', token: storedSession.token, from: 'file' },
      })
    } catch (error) {
      // A session that is unknown to the service has already ended.
      if (!(error instanceof CommandFailure)) throw error
      if (error.code !== 'sign_in_required') {
        const { code, text, exit, ref, details } = error
        const hints = [
          ...error.hints,
          { en: 'to delete it only here: svc logout --local', zh: '仅在本机清除：svc logout --local' },
        ]
        throw new CommandFailure(code, text, { exit, hints, cause: error, ...(ref && { ref }), ...(details && { details }) })
      }
    }
  }
  store.remove(site.siteOrigin)
  for (const name of ['SVC_API_KEY', 'SVC_TOKEN']) {
    if ((context.environment.variables[name] ?? '') !== '') {
      context.printNote({
        en: `${name} is still set in this terminal and will be used.`,
        zh: `当前终端仍设置了 ${name}，后续命令会继续使用。`,
      })
    }
  }
  context.printResult({ site: site.siteOrigin, ended: true, at_server: atServer }, () =>
    context.localize({ en: `Signed out of ${site.siteOrigin}.`, zh: `已退出 ${site.siteOrigin}。` }),
  )
}
