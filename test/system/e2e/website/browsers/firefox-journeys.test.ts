import t from 'tap'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { openFirefox } from '../../../../support/website/driven/firefox.ts'
import { runJourneys } from '../../../../support/website/driven/journeys.ts'

const gateway = await startGateway(t, { defaultPlan: 'max' })
const page = await openFirefox(t, gateway.url, '')
if (page !== undefined) runJourneys(t, page, gateway)
