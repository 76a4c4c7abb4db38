select pgque.create_queue('emails');
select pgque.subscribe('emails', 'sender', '{"mode": "shared"}');

begin;
select pgque.send('emails', 'welcome', '{"to": "ada@example.org"}');
commit;

-- a batch of messages under a lease: ack its batch_id, or nack some of its messages
select batch_id, msg_id, type, payload from pgque.receive('emails', 'sender', 10);

-- about once a second, from any session: requeues the messages of dead workers, delivers due ones, rotates
select pgque.maintain();
