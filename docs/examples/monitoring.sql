-- is anything wrong? component, status (ok, info, warning), detail
select * from pgque.status();

-- who is behind: messages that can be received, and when the oldest of them was sent. Above 10,000
-- the depth is an estimate and `estimated` is true, so a producer may poll this
select queue_name, consumer, depth, clock_timestamp() - oldest_at as lag, in_flight, open_batches, received_per_second, expired, paused, estimated
  from pgque.consumer_status();

-- what a queue stores, and what waits for its time
select queue_name, segments, bytes, delayed, dead_letters, sent_per_second from pgque.queue_status();

-- why space is not reclaimed: by name, a consumer, a process, a prepared transaction
select segment, bytes, waits_for from pgque.segment_status('orders') where waits_for <> '{}';

-- what died, and why; send it again, all of it or what a filter names
select id, consumer, attempt, reason, payload from pgque.dead_letters('orders', max_messages => 20);
select pgque.redrive('orders', reason_like => '%timeout%');
