// Subscribes to topics with the stock client and prints what it hears, a line of JSON each: node listen.mjs URL TOPIC...
// A URL of http:// is that of SockJS.
import {Client} from '@stomp/stompjs'
import SockJS from 'sockjs-client'

const [url, ...topics] = process.argv.slice(2)
const tell = said => console.log(JSON.stringify(said))
const client = new Client({
  ...(url.startsWith('http') ? {webSocketFactory: () => new SockJS(url)} : {brokerURL: url}),
  reconnectDelay: 100,
  heartbeatIncoming: 1000,
  heartbeatOutgoing: 1000,
})
client.onConnect = frame => {
  let left = topics.length
  for (const topic of topics) {
    client.watchForReceipt(`at ${topic}`, () => { left -= 1; if (!left) tell({connected: frame.headers.version}) })
    client.subscribe(topic, message => tell({topic, ...JSON.parse(message.body)}), {receipt: `at ${topic}`})
  }
}
client.onStompError = frame => tell({error: frame.headers.message})
client.onWebSocketClose = () => tell({closed: true})
client.activate()
process.stdin.on('end', () => client.deactivate()).resume()
