/** Members sign in with your OpenID Connect provider, and only addresses of your domain may create an account. */
import base from 'svc-gateway/gateway.config.js'
import { defineGateway, env } from 'svc-gateway'

export default defineGateway({
  ...base,
  signIn: {
    ...base.signIn,
    allowedDomains: ['example.com'],
    providers: {
      // The redirect address to register at the provider is {SITE_URL}/api/membership/auth/oauth/acme/callback.
      acme: {
        name: 'Acme',
        issuer: env.text('OIDC_ISSUER', 'https://id.example.com'),
        clientId: env.text('OIDC_CLIENT_ID', 'svc-gateway'),
        clientSecret: env.secret('OIDC_CLIENT_SECRET'),
      },
    },
  },
})
