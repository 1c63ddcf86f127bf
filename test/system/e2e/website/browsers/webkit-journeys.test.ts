import t from 'tap'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { openWebKit } from '../../../../support/website/driven/webkit.ts'
import { runJourneys } from '../../../../support/website/driven/journeys.ts'

const gateway = await startGateway(t, { defaultPlan: 'max' })
const page = await openWebKit(t, gateway.url)
if (page !== undefined) runJourneys(t, page, gateway)
