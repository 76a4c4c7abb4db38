npx pgque install                                        # once for each database
npx pgque queue create orders --max-retries 0
npx pgque send orders '{"orderId": 42}'
printf '%s\n' '{"orderId": 43}' '{"orderId": -1}' | npx pgque send orders
npx pgque queue list
npx pgque worker docs/examples/command-line/tasks --once || echo "a message failed for good"
npx pgque dlq list orders
npx pgque dlq redrive orders --all                       # sends them again
npx pgque peek orders --consumer default                 # what it receives next
npx pgque doctor                                         # exits with 1 when something is wrong
