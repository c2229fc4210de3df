// A scheduler for the slots of one testbed: the shortest job first. It gets changes over STOMP and acts over REST.
//
//   node scheduler.mjs [URL] [TESTBED] [EXECUTORS] [RUNS]
//
// Every BatchJob runs RUNS times with EXECUTORS executors. The scheduler stores the duration in the BatchJob.
import {Client} from '@stomp/stompjs'

const [url = 'http://127.0.0.1:8082', testbed = 'bench', executors = '2', runs = '1'] = process.argv.slice(2)
const ME = 'quickest' // prefix of its Schedulings, and its key in the data of BatchJobs
const failed = new Set()

async function ask(method, path, body) {
  const options = {method, headers: {'content-type': 'application/json'}, body: body && JSON.stringify(body)}
  const answer = await fetch(`${url}/external/${path}`, options)
  if (answer.status === 404) return null // it was deleted meanwhile
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

const ran = job => job.scheduledEvents.filter(event => event.successful)
const seconds = job => Number(job.externalScheduler[ME]?.[0].seconds ?? 0) // unknown jobs first, to measure them

// Computed from the history in the cluster, so repeating it does no harm.
async function remember(job) {
  const times = ran(job).map(event => (Date.parse(event.stop) - Date.parse(event.start)) / 1000)
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length
  const row = {seconds: mean.toFixed(3), runs: String(times.length)}
  await ask('PUT', `jobs/${job.name}`, {name: job.name, externalScheduler: {[ME]: [row]}})
}

async function decide() {
  const mine = (await ask('GET', 'schedulings')).filter(each => each.name.startsWith(`${ME}-`))
  const jobs = await ask('GET', 'jobs') // after the Schedulings: then a completed Scheduling's run is in its job
  for (const {name, state, queue: [job], problems} of mine) {
    if (state === 'CompletedState' && jobs[job]) await remember(jobs[job])
    if (state === 'FailedState') failed.add(job) && console.error(`${job} failed:`, problems)
    if (['CompletedState', 'FailedState'].includes(state)) await ask('DELETE', `schedulings/${name}`)
  }
  if (mine.length) return // one at a time; a message will come when the deleted one is gone
  if ((await ask('GET', `testbeds/${testbed}`))?.state !== 'SUCCESS') return
  const ready = Object.values(jobs).filter(job => job.state === 'ReadyState' && ran(job).length < runs && !failed.has(job.name))
  const [next] = ready.sort((one, other) => seconds(one) - seconds(other) || ran(one).length - ran(other).length)
  if (!next) return
  console.log(`${next.name}: run ${ran(next).length + 1}, ${seconds(next) || 'no'} seconds known`)
  await ask('POST', 'schedulings', {name: `${ME}-${next.name}`, testBed: testbed, queue: Array(Number(executors)).fill(next.name)})
}

// Changes arrive faster than decisions are made. All changes during a decision lead to one more decision.
let isWanted = false, isBusy = false
async function wake() {
  isWanted = true
  if (isBusy) return
  isBusy = true
  while (isWanted) {
    isWanted = false
    await decide().catch(error => { console.error(String(error)); setTimeout(wake, 1000) })
  }
  isBusy = false
}

const client = new Client({brokerURL: `${url.replace('http', 'ws')}/scheduler`, reconnectDelay: 500, heartbeatIncoming: 5000, heartbeatOutgoing: 5000})
client.onConnect = () => { // also after a reconnect: subscribe first, then read, so nothing is missed
  for (const topic of [`testbeds/${testbed}`, 'jobs', 'schedulings']) client.subscribe(`/topic/${topic}`, wake)
  wake()
}
client.activate()
process.on('SIGTERM', () => client.deactivate().then(() => process.exit(0)))
