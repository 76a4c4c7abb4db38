-- any number of sessions may: one of them does the work of a queue. With pg_cron:
--   select cron.schedule('pgque', '1 second', 'call pgque.maintain_all()');
call pgque.maintain_all();
