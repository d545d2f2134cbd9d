! SPDX-License-Identifier: BSD-3-Clause
! What a rank does through rhinet.f90; prints one line when all of it was right. With the argument
! "offsets" it prints where the members of each type are, for comparison with C.
program case
    use rhinet
    implicit none
    type(c_ptr) :: job, msg, set, dsm
    integer :: rank, size, right, left
    character(len=16) :: wish

    call get_command_argument(1, wish)
    if (wish == "offsets") then
        call offsets()
        stop
    end if
    call check(rh_join(job, c_null_ptr), "join")
    rank = rh_rank(job)
    size = rh_size(job)
    right = modulo(rank + 1, size)
    left = modulo(rank - 1, size)
    call remote_memory()
    call check(rh_msg_open(msg, job), "mailbox")
    call messages()
    call collectives()
    call check(rh_msg_close(msg), "close")
    call shared_memory()
    call check(rh_barrier_all(job), "barrier")
    call check(rh_leave(job), "leave")
    print "('rank ', i0, ' is right')", rank

contains

    subroutine check(result, what)
        integer(c_int), intent(in) :: result
        character(*), intent(in) :: what
        if (result >= 0) return
        print *, what, result, rhinet_error_text()
        error stop 1
    end subroutine

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        if (condition) return
        print *, "rank", rank, ": ", what
        error stop 1
    end subroutine

    subroutine remote_memory()
        type(c_ptr) :: base, words
        real(c_double), pointer :: row(:)
        integer(c_int64_t), pointer :: word(:)
        real(c_double), target :: values(4), back(4)
        type(rh_notice) :: notice
        type(rh_wait) :: wait
        type(rh_done), asynchronous :: done
        integer(c_int64_t) :: old
        integer(c_int) :: result

        call check(rh_segment_alloc(job, 1, 4096_c_int64_t, base), "segment")
        call check(rh_segment_alloc(job, 2, 64_c_int64_t, words), "words")
        call c_f_pointer(base, row, [512])
        call c_f_pointer(words, word, [8])
        call check(rh_barrier_all(job), "barrier")
        values = rank
        notice%word = rh_at(right, 2, 0_c_int64_t)
        notice%value = 9
        call check(rh_push_notify(job, rh_at(right, 1, 16_c_int64_t), c_loc(values), &
            32_c_size_t, notice), "push")
        wait%word = words
        wait%value = 9
        wait%from = left
        call check(rh_wait_word(job, wait), "wait")
        call expect(all(nint(row(3:6)) == left), "pushed")
        call check(rh_pull_start(job, rh_at(right, 1, 16_c_int64_t), c_loc(back), 32_c_size_t, &
            done), "pull")
        call check(rh_wait_done(job, done, RH_TIMEOUT_DEFAULT), "done")
        call expect(all(nint(back) == rank), "pulled")
        old = -1
        call check(rh_fetch_add(job, rh_at(0, 2, 8_c_int64_t), 5_c_int64_t, old), "add")
        call check(rh_barrier_all(job), "barrier")
        if (rank == 0) call expect(word(2) == 5 * size, "added")
        result = rh_push(job, rh_at(right, 1, 4095_c_int64_t), c_loc(values), 8_c_size_t)
        call expect(result == RH_EBOUNDS, "bounds")
        call expect(index(rhinet_error_text(), "4095") > 0, "text")
        result = rh_push(job, rh_at(right, 77, 0_c_int64_t), c_loc(values), 8_c_size_t)
        call expect(result == RH_ENOSEG .and. rh_error_rank() == right, "no segment")
        call check(rh_barrier_all(job), "barrier")
    end subroutine

    subroutine messages()
        integer(c_int), target :: give(3), take(3)
        type(c_ptr) :: request
        type(rh_status) :: status
        give = rank
        call check(rh_irecv(msg, left, 4, c_loc(take), 12_c_size_t, request), "irecv")
        call check(rh_send(msg, right, 4, c_loc(give), 12_c_size_t), "send")
        call check(rh_wait_request(request, status, RH_TIMEOUT_DEFAULT), "wait")
        call expect(all(take == left), "received")
        call expect(status%source == left .and. status%tag == 4 .and. status%length == 12, "status")
        call check(rh_lock(msg, 1, RH_TIMEOUT_DEFAULT), "lock")
        call check(rh_unlock(msg, 1), "unlock")
    end subroutine

    subroutine collectives()
        real(c_double), target :: mine(2), total(2)
        type(rh_reduction) :: reduction
        call check(rh_set_create(msg, c_null_ptr, set), "set")
        mine = [1.0_c_double, real(rank, c_double)]
        reduction%count = 2
        call check(rh_allreduce(set, c_loc(mine), c_loc(total), reduction), "allreduce")
        call expect(nint(total(1)) == size .and. nint(total(2)) == size * (size - 1) / 2, "sum")
        call check(rh_set_destroy(set), "destroy")
    end subroutine

    subroutine shared_memory()
        type(rh_dsm_options) :: options
        type(rh_dsm_region) :: region
        integer(c_int64_t), pointer :: counter
        integer(c_int64_t) :: offset
        options%struct_size = c_sizeof(options)
        options%heap_length = 65536
        options%variable_count = 4
        call check(rh_dsm_open(dsm, job, options), "dsm")
        offset = 0
        call check(rh_dsm_alloc_named(dsm, 1, 8_c_int64_t, offset), "alloc")
        call c_f_pointer(rh_dsm_ptr(dsm, offset), counter)
        if (rank == 0) then
            call check(rh_dsm_acquire(dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT), "acquire")
            region%offset = offset
            region%length = 8
            call check(rh_dsm_bind(dsm, 0, region, 1_c_size_t), "bind")
            counter = 0
            call check(rh_dsm_release(dsm, 0), "release")
        end if
        call check(rh_dsm_barrier(dsm, c_null_ptr, 0_c_size_t, RH_TIMEOUT_DEFAULT), "barrier")
        call check(rh_dsm_acquire(dsm, 0, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT), "acquire")
        counter = counter + 1
        call check(rh_dsm_release(dsm, 0), "release")
        call check(rh_dsm_barrier(dsm, c_null_ptr, 0_c_size_t, RH_TIMEOUT_DEFAULT), "barrier")
        call check(rh_dsm_acquire(dsm, 0, RH_DSM_READ, RH_TIMEOUT_DEFAULT), "acquire")
        call expect(counter == size, "counted")
        call check(rh_dsm_release(dsm, 0), "release")
        call check(rh_dsm_close(dsm), "close")
    end subroutine

    subroutine place(name, whole, part)
        character(*), intent(in) :: name
        type(c_ptr), intent(in) :: whole, part
        print "(a, 1x, i0)", name, transfer(part, 0_c_intptr_t) - transfer(whole, 0_c_intptr_t)
    end subroutine

    subroutine offsets()
        type(rh_remote), target :: remote_
        type(rh_segment), target :: segment_
        type(rh_done), target :: done_
        type(rh_notice), target :: notice_
        type(rh_queue_shape), target :: queue_shape_
        type(rh_arrival), target :: arrival_
        type(rh_wait), target :: wait_
        type(rh_status), target :: status_
        type(rh_reduction), target :: reduction_
        type(rh_dsm_options), target :: dsm_options_
        type(rh_dsm_region), target :: dsm_region_
        print "(a, 1x, i0)", "rh_remote", c_sizeof(remote_)
        call place("rh_remote.rank", c_loc(remote_), &
            c_loc(remote_%rank))
        call place("rh_remote.sid", c_loc(remote_), &
            c_loc(remote_%sid))
        call place("rh_remote.offset", c_loc(remote_), &
            c_loc(remote_%offset))
        print "(a, 1x, i0)", "rh_segment", c_sizeof(segment_)
        call place("rh_segment.struct_size", c_loc(segment_), &
            c_loc(segment_%struct_size))
        call place("rh_segment.sid", c_loc(segment_), &
            c_loc(segment_%sid))
        call place("rh_segment.base", c_loc(segment_), &
            c_loc(segment_%base))
        call place("rh_segment.length", c_loc(segment_), &
            c_loc(segment_%length))
        call place("rh_segment.rights", c_loc(segment_), &
            c_loc(segment_%rights))
        call place("rh_segment.flags", c_loc(segment_), &
            c_loc(segment_%flags))
        print "(a, 1x, i0)", "rh_done", c_sizeof(done_)
        call place("rh_done.state", c_loc(done_), &
            c_loc(done_%state))
        call place("rh_done.rank", c_loc(done_), &
            c_loc(done_%rank))
        print "(a, 1x, i0)", "rh_notice", c_sizeof(notice_)
        call place("rh_notice.word", c_loc(notice_), &
            c_loc(notice_%word))
        call place("rh_notice.value", c_loc(notice_), &
            c_loc(notice_%value))
        print "(a, 1x, i0)", "rh_queue_shape", c_sizeof(queue_shape_)
        call place("rh_queue_shape.slot_count", c_loc(queue_shape_), &
            c_loc(queue_shape_%slot_count))
        call place("rh_queue_shape.slot_length", c_loc(queue_shape_), &
            c_loc(queue_shape_%slot_length))
        print "(a, 1x, i0)", "rh_arrival", c_sizeof(arrival_)
        call place("rh_arrival.data", c_loc(arrival_), &
            c_loc(arrival_%data))
        call place("rh_arrival.length", c_loc(arrival_), &
            c_loc(arrival_%length))
        call place("rh_arrival.source", c_loc(arrival_), &
            c_loc(arrival_%source))
        print "(a, 1x, i0)", "rh_wait", c_sizeof(wait_)
        call place("rh_wait.word", c_loc(wait_), &
            c_loc(wait_%word))
        call place("rh_wait.when", c_loc(wait_), &
            c_loc(wait_%when))
        call place("rh_wait.value", c_loc(wait_), &
            c_loc(wait_%value))
        call place("rh_wait.from", c_loc(wait_), &
            c_loc(wait_%from))
        call place("rh_wait.timeout_ns", c_loc(wait_), &
            c_loc(wait_%timeout_ns))
        print "(a, 1x, i0)", "rh_status", c_sizeof(status_)
        call place("rh_status.source", c_loc(status_), &
            c_loc(status_%source))
        call place("rh_status.tag", c_loc(status_), &
            c_loc(status_%tag))
        call place("rh_status.length", c_loc(status_), &
            c_loc(status_%length))
        print "(a, 1x, i0)", "rh_reduction", c_sizeof(reduction_)
        call place("rh_reduction.type", c_loc(reduction_), &
            c_loc(reduction_%type))
        call place("rh_reduction.operator_", c_loc(reduction_), &
            c_loc(reduction_%operator_))
        call place("rh_reduction.count", c_loc(reduction_), &
            c_loc(reduction_%count))
        print "(a, 1x, i0)", "rh_dsm_options", c_sizeof(dsm_options_)
        call place("rh_dsm_options.struct_size", c_loc(dsm_options_), &
            c_loc(dsm_options_%struct_size))
        call place("rh_dsm_options.heap_length", c_loc(dsm_options_), &
            c_loc(dsm_options_%heap_length))
        call place("rh_dsm_options.variable_count", c_loc(dsm_options_), &
            c_loc(dsm_options_%variable_count))
        call place("rh_dsm_options.msg", c_loc(dsm_options_), &
            c_loc(dsm_options_%msg))
        print "(a, 1x, i0)", "rh_dsm_region", c_sizeof(dsm_region_)
        call place("rh_dsm_region.offset", c_loc(dsm_region_), &
            c_loc(dsm_region_%offset))
        call place("rh_dsm_region.length", c_loc(dsm_region_), &
            c_loc(dsm_region_%length))
        call place("rh_dsm_region.block_count", c_loc(dsm_region_), &
            c_loc(dsm_region_%block_count))
        call place("rh_dsm_region.stride", c_loc(dsm_region_), &
            c_loc(dsm_region_%stride))
    end subroutine
end program
